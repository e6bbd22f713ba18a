//! Traits for the commands that several dialects of a family share. A server implements an inherited command
//! once for all dialects that inherit it.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::Dialect;
use agentese_protocol::model::Command;

use super::serving::answered_with;
use super::signature::{params_type, result_type};

/// The division of a dialect's commands into the traits of its family.
struct Lineage {
    /// The commands that the dialect introduces and every heir inherits unchanged.
    inherited: Vec<&'static Command>,
    /// The commands that are only in this dialect's own trait: neither inherited nor inheritable.
    specific: Vec<&'static Command>,
    /// The ancestors from which commands are inherited, oldest first, each with these commands.
    ancestors: Vec<(&'static str, Vec<&'static Command>)>,
}

/// Returns the dialects from the oldest ancestor to the dialect itself.
fn ancestry(dialect: &'static Dialect) -> Vec<&'static Dialect> {
    let mut line: Vec<_> = std::iter::successors(Some(dialect), |dialect| dialect.parent).collect();
    line.reverse();
    line
}

fn descendants(dialect: &'static Dialect) -> Vec<Index> {
    let descends = |index: &Index| {
        let name = index.dialect.name;
        name != dialect.name && ancestry(index.dialect).iter().any(|older| older.name == dialect.name)
    };
    Index::clients().into_iter().filter(descends).collect()
}

fn same(one: &Command, other: &Command) -> bool {
    (one.name, params_type(one), result_type(one)) == (other.name, params_type(other), result_type(other))
}

impl Lineage {
    /// Divides the commands of a dialect. Returns `None` for a dialect without relatives.
    fn of(index: &Index) -> Option<Self> {
        let line = ancestry(index.dialect);
        let mut ancestors: Vec<(&'static str, Vec<&'static Command>)> = Vec::new();
        let mut inherited = Vec::new();
        for older in &line {
            let heirs = descendants(older);
            let is_kept = |command: &&'static Command| {
                let everywhere = heirs.iter().all(|heir| heir.commands.iter().any(|row| same(row, command)));
                let known = ancestors.iter().flat_map(|(_, rows)| rows).any(|row| row.name == command.name);
                everywhere && !known && !heirs.is_empty()
            };
            let rows: Vec<_> = Index::client(older).commands.into_iter().filter(is_kept).collect();
            match older.name == index.dialect.name {
                true => inherited = rows,
                false => ancestors.push((older.name, rows)),
            }
        }
        if line.len() == 1 && descendants(index.dialect).is_empty() {
            return None;
        }
        let is_inherited = |command: &&'static Command| {
            let mut all = ancestors.iter().flat_map(|(_, rows)| rows).chain(&inherited);
            all.any(|row| row.name == command.name)
        };
        let specific = index.commands.iter().copied().filter(|command| !is_inherited(command)).collect();
        Some(Self { inherited, specific, ancestors })
    }
}

/// Adds the traits for shared commands and for the dialect's own. Implements `Service` for types that implement
/// all of them.
pub fn traits(out: &mut String, index: &Index, marker: &str) {
    let Some(Lineage { inherited, specific, ancestors }) = Lineage::of(index) else { return };
    let root = ancestors.is_empty();
    if !inherited.is_empty() {
        let heirs: Vec<_> = descendants(index.dialect).iter().map(|heir| heir.dialect.name).collect();
        let _ = writeln!(
            out,
            "\n/// The commands that {} inherit unchanged from this dialect. A server of several dialects of the family\n\
             /// implements them once, for every dialect `D`. Every method is required; [`Service`] describes them. A type\n\
             /// that implements the traits of all commands of a dialect implements its [`Service`].\n\
             pub trait BaseService<D: spec::Dialect>: Send + Sync + 'static {{",
            heirs.join(" and ")
        );
        methods(out, &inherited, "D");
        if root {
            out.push_str(
                "\n    /// Stops all running work.\n    fn shut_down(&self) -> impl Future<Output = ()> + Send;\n\n    \
                 /// Waits until all running work is over.\n    fn wait_until_idle(&self) -> impl Future<Output = ()> + Send;\n",
            );
        }
        out.push_str("}\n");
    }
    if !specific.is_empty() {
        let _ = writeln!(
            out,
            "\n/// The commands of this dialect that no other dialect of its family has in the same form. A command without\n\
             /// an implementation, because its revision is not served, fails as not available.\n\
             pub trait DialectCommands: Send + Sync + 'static {{"
        );
        for command in &specific {
            let _ = writeln!(
                out,
                "    {} {{\n        let _ = (params, call);\n        \
                 async {{ Err(crate::serve::CommandError::not_available({:?})) }}\n    }}",
                signature(command, marker),
                command.wire
            );
        }
        out.push_str("}\n");
    }
    let mut sources: Vec<(String, &[&'static Command])> = Vec::new();
    for (name, rows) in ancestors.iter().filter(|(_, rows)| !rows.is_empty()) {
        sources.push((format!("super::{name}::BaseService<{marker}>"), rows));
    }
    if !inherited.is_empty() {
        sources.push((format!("BaseService<{marker}>"), &inherited));
    }
    if !specific.is_empty() {
        sources.push(("DialectCommands".to_owned(), &specific));
    }
    let bounds: Vec<_> = sources.iter().map(|(name, _)| name.as_str()).collect();
    let _ = writeln!(out, "\nimpl<T: {}> Service for T {{", bounds.join(" + "));
    for (source, rows) in &sources {
        for command in *rows {
            let _ = writeln!(
                out,
                "    {} {{\n        <T as {source}>::{}(self, params, call)\n    }}\n",
                signature(command, marker),
                command.name
            );
        }
    }
    if let Some((first, _)) = sources.first() {
        for name in ["shut_down", "wait_until_idle"] {
            let _ = writeln!(
                out,
                "    fn {name}(&self) -> impl Future<Output = ()> + Send {{\n        <T as {first}>::{name}(self)\n    }}"
            );
        }
    }
    out.push_str("}\n");
}

fn signature(command: &Command, dialect: &str) -> String {
    format!(
        "fn {}(&self, params: {}, call: crate::serve::Call<{dialect}{}>) -> \
         impl Future<Output = Result<{}, crate::serve::CommandError>> + Send",
        command.name,
        params_type(command),
        answered_with(command),
        result_type(command)
    )
}

fn methods(out: &mut String, commands: &[&'static Command], dialect: &str) {
    for command in commands {
        let _ = writeln!(out, "    {};", signature(command, dialect));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> Index {
        Index::client(Index::named(name).unwrap().dialect)
    }

    fn names(commands: &[&'static Command]) -> Vec<&'static str> {
        commands.iter().map(|command| command.name).collect()
    }

    #[test]
    fn every_command_of_a_family_is_in_one_trait() {
        for index in Index::clients() {
            let Some(lineage) = Lineage::of(&index) else {
                assert!(index.dialect.parent.is_none());
                continue;
            };
            let mut found = names(&lineage.inherited);
            found.extend(names(&lineage.specific));
            let of_ancestors = lineage.ancestors.iter().flat_map(|(_, rows)| names(rows));
            found.extend(of_ancestors);
            let mut all = names(&index.commands);
            found.sort_unstable();
            all.sort_unstable();
            assert_eq!(found, all, "{}", index.dialect.name);
        }
    }

    #[test]
    fn overridden_commands_are_not_shared() {
        let pi = Lineage::of(&client("pi")).unwrap();
        assert_eq!(
            names(&pi.specific),
            [
                "prompt",
                "steer",
                "follow_up",
                "clear_queue",
                "get_state",
                "get_available_thinking_levels",
                "fork",
                "clone_session",
                "get_entries",
                "get_tree",
                "get_fork_messages",
                "get_commands"
            ]
        );
        let omp = Lineage::of(&client("omp")).unwrap();
        assert!(names(&omp.specific).contains(&"set_host_tools"));
        assert!(names(&omp.inherited).contains(&"get_state"));
        assert!(Lineage::of(&client("opal")).is_none());
    }
}
