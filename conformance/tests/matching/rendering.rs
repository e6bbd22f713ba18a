//! Tests of the text that describes a difference.

use agentese_conformance::verdict::{Outcome, render};
use serde_json::json;

use crate::support::{compared, failures};

#[test]
fn a_difference_shows_both_frames_the_mark_and_the_frames_before() {
    let lines = |text: &str| {
        vec![
            ('>', json!({"id": "p1", "type": "prompt", "message": "Hi"})),
            ('<', json!({"id": "p1", "type": "response", "command": "prompt", "success": true})),
            ('<', json!({"type": "agent_start"})),
            (
                '<',
                json!({"type": "message_start", "message": {
                    "role": "user", "timestamp": 1_795_293_436_469_u64,
                    "content": [{"type": "text", "text": format!("{}{text}", "long ".repeat(60))}]
                }}),
            ),
        ]
    };
    let compared = compared("pi", &lines("Hi"), &lines("Ho"));
    let [failure] = failures(&compared)[..] else { panic!("{:?}", compared.findings) };
    let Outcome::Failed(mismatch) = &failure.outcome else { panic!("{failure:?}") };
    insta::assert_snapshot!(render(mismatch), @r#"
    the text is …"ong long long long Ho" instead of …"ong long long long Hi"
      at message.content[0].text
      before      0 → {"id":"p1","type":"prompt","message":"Hi"}
                  1 ← {"id":"p1","type":"response","command":"prompt","success":true}
                  2 ← {"type":"agent_start"}
      expected    3 ← …436469,"content":[{"type":"text","text":⟦…ong long long long long long long long Hi"⟧}]}}
      found       3 ← …436469,"content":[{"type":"text","text":⟦…ong long long long long long long long Ho"⟧}]}}
    "#);
}

#[test]
fn a_missing_frame_is_rendered_as_nothing() {
    let golden = vec![('<', json!({"type": "agent_start"})), ('<', json!({"type": "turn_start"}))];
    let compared = compared("pi", &golden, &golden[..1]);
    let [failure] = failures(&compared)[..] else { panic!("{:?}", compared.findings) };
    let Outcome::Failed(mismatch) = &failure.outcome else { panic!("{failure:?}") };
    insta::assert_snapshot!(render(mismatch), @r#"
    missing event `turn_start`
      before      0 ← {"type":"agent_start"}
      expected    1 ← {"type":"turn_start"}
      found    nothing
    "#);
}
