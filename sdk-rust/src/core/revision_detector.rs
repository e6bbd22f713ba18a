//! The revision of an agent, detected from its frames: a state machine without I/O.
//!
//! The declaration lists frames that only younger or only older revisions send. Each such frame excludes some
//! revisions. Calls never wait for the result.

use crate::scan::{self, MemberSet, member};
use crate::spec::{Fingerprint, Spec};

/// Detector of an agent's revision. It stores the revisions that are still possible after the received frames.
#[derive(Debug, Clone)]
pub struct RevisionDetector {
    /// All revisions of the dialect, oldest first; empty if the client's tables are those of one revision.
    revisions: &'static [&'static Spec],
    /// Index of the revision in the client's options.
    named: Option<usize>,
    /// Index of the oldest possible revision; `youngest` is the index of the youngest possible one.
    oldest: usize,
    youngest: usize,
    /// `true` if no further frame can change the result.
    settled: bool,
}

/// A frame that the revision in the options does not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The revision in the options, such as `pi@0.55`.
    pub named: String,
    /// The revision to which the frame belongs.
    pub seen: String,
}

impl RevisionDetector {
    /// Creates a detector before the first frame. `named` is the revision in the options.
    pub fn new(client: &'static Spec, named: Option<&'static Spec>) -> Self {
        let revisions = client.revisions;
        let named = named.and_then(|named| revisions.iter().position(|spec| spec.revision == named.revision));
        let youngest = revisions.len().saturating_sub(1);
        let mut known = RevisionDetector { revisions, named, oldest: 0, youngest, settled: false };
        known.settled = !known.is_open();
        known
    }

    /// Returns `true` if a frame can still distinguish the possible revisions. This requires that a revision
    /// after the oldest possible one has a fingerprint.
    fn is_open(&self) -> bool {
        let later = self.revisions.get(self.oldest + 1..=self.youngest).unwrap_or_default();
        later.iter().any(|spec| !spec.shows.is_empty() || !spec.excludes.is_empty())
    }

    /// Returns `true` if no further frame can change the result, so that frames need no check.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the revision in the options, otherwise the only possible one. If several revisions send the same
    /// frames, returns the oldest. Returns `None` if the revision is unknown.
    pub fn revision(&self) -> Option<&'static Spec> {
        let place = self.named.or((!self.is_open()).then_some(self.oldest))?;
        self.revisions.get(place).copied()
    }

    /// Evaluates an event. `wrapped` is `true` if it has an envelope.
    pub fn event(&mut self, kind: &str, body: &str, wrapped: bool) -> Option<Contradiction> {
        if self.settled {
            return None;
        }
        let fingerprints = self.revisions.iter().flat_map(|spec| spec.shows.iter().chain(spec.excludes));
        let asked = fingerprints.filter_map(|fingerprint| match fingerprint {
            Fingerprint::EventMember(name, member) | Fingerprint::EventWithout(name, member)
                if *name == kind =>
            {
                Some(*member)
            }
            _ => None,
        });
        let members = MemberPresence::of(body, asked);
        let has = |member| members.has(body, member);
        self.observe(|fingerprint| match fingerprint {
            Fingerprint::Event(name) => name == kind,
            Fingerprint::EventMember(name, member) => name == kind && has(member),
            Fingerprint::EventWithout(name, member) => name == kind && !has(member),
            Fingerprint::BareEvent => !wrapped,
            Fingerprint::WrappedEvent => wrapped,
            Fingerprint::AnswerMember(..) | Fingerprint::AnswerWithout(..) | Fingerprint::AnswerBare(_) => {
                false
            }
        })
    }

    /// Evaluates the data of a successful answer.
    pub fn answer(&mut self, command: &str, data: Option<&str>) -> Option<Contradiction> {
        let has = |member| data.is_some_and(|data| has(data, member));
        self.observe(|fingerprint| match fingerprint {
            Fingerprint::AnswerMember(name, member) => name == command && has(member),
            Fingerprint::AnswerWithout(name, member) => name == command && !has(member),
            Fingerprint::AnswerBare(name) => name == command && data.is_none(),
            _ => false,
        })
    }

    fn observe(&mut self, is_seen: impl Fn(Fingerprint) -> bool) -> Option<Contradiction> {
        if self.settled {
            return None;
        }
        for (place, spec) in self.revisions.iter().enumerate() {
            if spec.shows.iter().any(|fingerprint| is_seen(*fingerprint)) {
                self.oldest = self.oldest.max(place);
            }
            if spec.excludes.iter().any(|fingerprint| is_seen(*fingerprint)) {
                self.youngest = self.youngest.min(place.saturating_sub(1));
            }
        }
        self.update_bounds()
    }

    /// Evaluates the agent's report that a command is unknown. Returns the youngest possible revision without
    /// the command, and the revisions that have it. Returns `None` if this report is no evidence for the
    /// revision.
    pub fn reject_unknown(&mut self, command: &str) -> Option<(String, String)> {
        let possible = self.named.map_or(self.oldest..=self.youngest, |named| named..=named);
        let without = possible.rev().find(|place| self.revisions[*place].command(command).is_none())?;
        let having = self.revisions_with(command)?;
        if self.named.is_none() {
            self.youngest = self.youngest.min(without);
            self.update_bounds();
        }
        Some((self.revisions[without].id(), having))
    }

    /// Returns the youngest possible revision and the revisions that have the command. Returns `None` if a
    /// possible revision has the command, or if no revision has it.
    pub fn missing_command(&self, command: &str) -> Option<(String, String)> {
        let mut possible = self.named.map_or(self.oldest..=self.youngest, |named| named..=named);
        let youngest = *possible.end();
        if self.revisions.is_empty() || possible.any(|place| self.revisions[place].command(command).is_some())
        {
            return None;
        }
        Some((self.revisions[youngest].id(), self.revisions_with(command)?))
    }

    /// Returns the revisions that have a command; `None` if no revision has it.
    fn revisions_with(&self, command: &str) -> Option<String> {
        let having = self.revisions.iter().filter(|spec| spec.command(command).is_some());
        let ids: Vec<String> = having.map(|spec| spec.id()).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    fn update_bounds(&mut self) -> Option<Contradiction> {
        if self.oldest > self.youngest {
            // Of contradictory frames, a feature that the agent has is stronger evidence than an absent one.
            self.youngest = self.oldest;
        }
        let contradicted = self.named.filter(|named| *named < self.oldest || *named > self.youngest);
        self.settled = !self.is_open() || contradicted.is_some();
        let seen = contradicted.map(|named| if named < self.oldest { self.oldest } else { self.youngest });
        let (named, seen) = contradicted.zip(seen)?;
        Some(Contradiction { named: self.revisions[named].id(), seen: self.revisions[seen].id() })
    }
}

/// Evidence for the revision that events of one type can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventEvidence {
    /// No event of the type is evidence.
    Never,
    /// An event is evidence if one of these members is present.
    IfMember(Vec<&'static str>),
    /// Every event of the type is evidence.
    Always,
}

impl EventEvidence {
    /// Returns the evidence that events of a type can give, in a dialect with these revisions.
    pub fn of(revisions: &[&'static Spec], kind: &str) -> Self {
        let mut members = Vec::new();
        for fingerprint in revisions.iter().flat_map(|spec| spec.shows.iter().chain(spec.excludes)) {
            match fingerprint {
                Fingerprint::BareEvent | Fingerprint::WrappedEvent => return EventEvidence::Always,
                Fingerprint::Event(name) | Fingerprint::EventWithout(name, _) if *name == kind => {
                    return EventEvidence::Always;
                }
                Fingerprint::EventMember(name, member) if *name == kind => members.push(*member),
                _ => {}
            }
        }
        if members.is_empty() { EventEvidence::Never } else { EventEvidence::IfMember(members) }
    }

    /// Returns `true` if an event is no evidence. `body` is its object.
    pub fn is_nothing(&self, body: &str) -> bool {
        match self {
            EventEvidence::Never => true,
            EventEvidence::IfMember(members) => {
                let asked = MemberPresence::of(body, members.iter().copied());
                !members.iter().any(|member| asked.has(body, member))
            }
            EventEvidence::Always => false,
        }
    }
}

/// Presence of a few members in an object, determined in one pass.
#[derive(Default)]
struct MemberPresence {
    requested: [&'static str; 4],
    found: [bool; 4],
    count: usize,
}

impl MemberPresence {
    /// Searches an object for the requested members, at most for the first four.
    fn of(object: &str, asked: impl Iterator<Item = &'static str>) -> Self {
        let mut members = MemberPresence::default();
        for member in asked {
            if members.count < members.requested.len() && members.place(member).is_none() {
                members.requested[members.count] = member;
                members.count += 1;
            }
        }
        if members.count == 0 {
            return members;
        }
        let MemberPresence { requested: asked, found, count } = &mut members;
        let sound = scan::members(object, |name, _| {
            for (asked, found) in asked.iter().zip(&mut *found).take(*count) {
                *found |= scan::is_named(name, asked);
            }
        });
        // A text that is no object has no members.
        if sound.is_err() {
            members.found = [false; 4];
        }
        members
    }

    fn place(&self, member: &str) -> Option<usize> {
        self.requested[..self.count].iter().position(|asked| *asked == member)
    }

    fn has(&self, object: &str, member: &'static str) -> bool {
        self.place(member).map_or_else(|| has(object, member), |place| self.found[place])
    }
}

/// Returns `true` if an object has a member.
fn has(object: &str, name: &'static str) -> bool {
    scan::scan(object, &MemberSet::new([member(name)])).is_ok_and(|found| found.get(0).is_some())
}

#[cfg(test)]
#[cfg(feature = "pi")]
mod tests {
    use super::*;
    use crate::pi::{CLIENT, REVISIONS};

    fn new(named: Option<usize>) -> RevisionDetector {
        RevisionDetector::new(&CLIENT, named.map(|place| REVISIONS[place]))
    }

    #[test]
    fn a_frame_shows_the_revision() {
        let cases = [
            ("1.5", "agent_settled", r#"{"type":"agent_settled"}"#),
            ("1.5", "agent_end", r#"{"type":"agent_end","messages":[],"willRetry":false}"#),
            ("0.55", "agent_end", r#"{"type":"agent_end","messages":[]}"#),
            ("0.55", "auto_compaction_start", r#"{"type":"auto_compaction_start"}"#),
        ];
        for (wanted, kind, body) in cases {
            let mut known = new(None);
            assert!(known.revision().is_none() && known.event("agent_start", "{}", false).is_none());
            assert_eq!(known.event(kind, body, false), None);
            assert_eq!(known.revision().unwrap().revision, wanted, "{body}");
            assert!(known.is_settled());
        }
        let mut known = new(None);
        known.answer("prompt", Some(r#"{"disposition":"started"}"#));
        assert_eq!(known.revision().unwrap().revision, "1.5");
        let mut known = new(None);
        known.answer("prompt", None);
        assert_eq!(known.revision().unwrap().revision, "0.55");
    }

    #[test]
    fn commands_missing_from_the_revision_are_found_and_undeclared_ones_are_not() {
        let wanted = Some(("pi@0.55".to_owned(), "pi@1.5, pi@1.6".to_owned()));
        assert_eq!(new(Some(0)).missing_command("get_tree"), wanted);
        assert_eq!(
            (new(Some(1)).missing_command("get_tree"), new(None).missing_command("get_tree")),
            (None, None)
        );
        assert_eq!(
            (new(Some(0)).missing_command("teleport"), new(Some(0)).missing_command("get_state")),
            (None, None)
        );
        let mut known = new(None);
        assert_eq!(known.reject_unknown("teleport"), None);
        assert_eq!(known.reject_unknown("get_tree"), wanted);
        assert_eq!(known.revision().unwrap().revision, "0.55");
        assert_eq!(known.missing_command("clear_queue"), wanted);
    }

    #[test]
    fn a_frame_against_the_named_revision_is_reported_once() {
        let mut known = new(Some(0));
        let contradiction = known.event("agent_settled", r#"{"type":"agent_settled"}"#, false);
        assert_eq!(contradiction, Some(Contradiction { named: "pi@0.55".into(), seen: "pi@1.5".into() }));
        assert_eq!(known.event("agent_settled", r#"{"type":"agent_settled"}"#, false), None);
        assert_eq!(known.revision().unwrap().revision, "0.55");
    }

    #[test]
    fn of_revisions_with_the_same_frames_the_oldest_is_meant_unless_one_is_named() {
        let settled = r#"{"type":"agent_settled"}"#;
        for (named, wanted) in [(None, "1.5"), (Some(1), "1.5"), (Some(2), "1.6")] {
            let mut known = new(named);
            assert_eq!(known.event("agent_settled", settled, false), None);
            assert_eq!(known.revision().unwrap().revision, wanted);
            assert!(known.is_settled() && known.missing_command("get_tree").is_none());
        }
        let mut known = new(Some(2));
        let contradiction = known.answer("prompt", None);
        assert_eq!(contradiction, Some(Contradiction { named: "pi@1.6".into(), seen: "pi@0.55".into() }));
    }

    #[test]
    fn frames_without_evidence_are_not_examined() {
        for client in crate::generated::CLIENTS {
            for event in client.events {
                let says = EventEvidence::of(client.revisions, event.name);
                for members in ["{}", r#"{"message":1}"#, r#"{"us\u0061ge":1}"#, r#"{"willRetry":true}"#] {
                    for wrapped in [true, false] {
                        let mut known = RevisionDetector::new(client, None);
                        known.event(event.name, members, wrapped);
                        let before = RevisionDetector::new(client, None);
                        let is_same = (known.oldest, known.youngest) == (before.oldest, before.youngest);
                        assert!(is_same || !says.is_nothing(members), "{} {members}", event.name);
                    }
                }
            }
        }
        assert_eq!(EventEvidence::of(REVISIONS, "turn_start"), EventEvidence::Never);
        assert!(!EventEvidence::of(REVISIONS, "message_update").is_nothing(r#"{"message":1}"#));
    }

    #[test]
    fn tables_of_one_revision_leave_nothing_open() {
        let known = RevisionDetector::new(&crate::pi::SPEC, None);
        assert!(
            known.is_settled() && known.revision().is_none() && known.missing_command("get_tree").is_none()
        );
    }
}
