//! Comparison of lists, element by element. Results of parallel calls are sorted first. If an allowance
//! permits additional elements, only elements on both sides are compared.

use serde_json::Value;

use super::FrameWalker;
use crate::matching::difference::Weight;
use crate::matching::golden::place::{DifferenceKind, Place};
use crate::matching::golden::rules::Rules;
use crate::matching::golden::tables::{Form, Ty};

impl FrameWalker<'_, '_> {
    pub(super) fn list(&mut self, ty: Option<&Ty>, golden: &[Value], observed: &[Value], place: Place<'_>) {
        let element = Rules::element(ty);
        let is_ours = |row: &&(&str, &str)| **row == (place.record, place.member);
        let tools = self.state.rules.tables.matching.tools.as_ref();
        if let Some(tools) = tools.filter(|tools| tools.lists.iter().any(|row| is_ours(&row)))
            && !self.state.overlapping.is_empty()
        {
            let calls = &self.state.overlapping;
            let golden = crate::matching::golden::tools::in_order(golden, tools.listed, calls);
            let observed = crate::matching::golden::tools::in_order(observed, tools.listed, calls);
            return self.elements(element, &golden, &observed, place);
        }
        if self.other_entries(element, golden, observed, place) {
            return;
        }
        let (expected, actual): (Vec<&Value>, Vec<&Value>) =
            (golden.iter().collect(), observed.iter().collect());
        self.elements(element, &expected, &actual, place);
    }

    fn elements(
        &mut self,
        element: Option<&'static Ty>,
        golden: &[&Value],
        observed: &[&Value],
        place: Place<'_>,
    ) {
        if golden.len() != observed.len() {
            let message = format!("{} elements instead of {}", observed.len(), golden.len());
            let kind = (Value::Null, Value::Null);
            return self.add_difference(
                place,
                true,
                Weight::Case,
                DifferenceKind::Changed(&kind.0, &kind.1),
                message,
            );
        }
        for (at, (golden, observed)) in golden.iter().zip(observed).enumerate() {
            self.path.push(format!("[{at}]"));
            self.value(element, golden, observed, Place { member: "[]", ..place });
            self.path.pop();
        }
    }

    /// Compares the elements that two lists have in common, if an allowance permits other elements. Returns
    /// `false` if no allowance does.
    fn other_entries(
        &mut self,
        element: Option<&'static Ty>,
        golden: &[Value],
        observed: &[Value],
        place: Place<'_>,
    ) -> bool {
        let rows = self.state.rules.with_form(|form| match form {
            Form::OtherEntries(rows) => Some(*rows),
            _ => None,
        });
        let Some((allowance, rows)) = rows else { return false };
        let Some(row) = rows.iter().find(|row| row.member == place.member) else { return false };
        let marked =
            |value: &Value| row.keys.iter().map(|mark| value.get(mark).cloned()).collect::<Option<Vec<_>>>();
        let (expected, actual): (Vec<_>, Vec<_>) =
            (golden.iter().map(marked).collect(), observed.iter().map(marked).collect());
        if expected.iter().any(Option::is_none) {
            return false;
        }
        if let Some(at) = actual.iter().position(Option::is_none) {
            self.push(Weight::Must, format!("entry {at} lacks one of {}", row.keys.join(", ")), None);
        }
        if expected != actual {
            let message =
                format!("{} entries instead of {}, or different ones", observed.len(), golden.len());
            self.push(Weight::Case, message, Some(allowance.name));
        }
        for (at, mark) in expected.iter().enumerate() {
            let Some(other) = actual.iter().position(|other| other == mark) else { continue };
            self.path.push(format!("[{other}]"));
            let before = self.entry.replace((allowance.name, row.free));
            self.value(element, &golden[at], &observed[other], place);
            self.entry = before;
            self.path.pop();
        }
        true
    }
}
