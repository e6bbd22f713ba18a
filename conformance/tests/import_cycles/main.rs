//! Test that imports form no circles: the files of a crate can be ordered so that each file imports only from
//! files below it.
//!
//! An arrow leads from a file to each file that defines a name used in its code: in `use`, in an expression,
//! a type, a pattern, an attribute or an argument of a macro. Renames, groups, globs and re-exports are
//! followed to the definition. No arrow is drawn
//! - for `mod name;` and for re-exports, which only declare names;
//! - from a file to one whose module contains it. To all other files, a module and the files of its folder
//!   are a unit. The module's own file may contain items that its parts share;
//! - from generated files, and from code that is compiled only for tests.
//!
//! A circle of more than two files fails. A pair of files that import from each other fails too, unless
//! `exceptions.txt` lists it with a reason. A listed pair that is no longer a circle fails as well. To break
//! a circle, move the items that both files need into a third file.
//!
//! A name that a containing module only re-exports, such as `super::Engine`, is checked in two ways: as part
//! of that module, and as its definition. The second check skips the packages that `exceptions.txt` names.

mod graph;
mod modules;
mod packages;
mod resolve;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use graph::Graph;
use modules::Modules;
use resolve::Facades;

/// Maximum number of pairs in `exceptions.txt`.
const MOST_PAIRS: usize = 10;

type Pair = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The packages of this repository by name, with the modules of their libraries and binaries.
static PACKAGES: LazyLock<BTreeMap<String, Vec<Modules>>> = LazyLock::new(|| {
    let read = |package: packages::Package| {
        (package.name, package.roots.iter().map(|root| Modules::read(root)).collect())
    };
    packages::all(&root()).into_iter().map(read).collect()
});

/// Content of `exceptions.txt`. An entry `path <-> path: reason` permits a pair of files to import from each
/// other. An entry `package: reason` disables the second check for a package.
#[derive(Default)]
struct Exceptions {
    pairs: Vec<Pair>,
    packages: BTreeSet<String>,
}

impl Exceptions {
    fn read() -> Self {
        let text =
            std::fs::read_to_string(root().join("conformance/tests/import_cycles/exceptions.txt")).unwrap();
        let mut exceptions = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (names, reason) = line.split_once(": ").unwrap_or_else(|| panic!("no reason: {line}"));
            assert!(reason.len() > 20, "a reason is a sentence: {line}");
            match names.split_once(" <-> ") {
                Some((one, other)) => exceptions.pairs.push([one, other].map(str::to_owned).into()),
                None => assert!(exceptions.packages.insert(names.to_owned()), "twice: {line}"),
            }
        }
        exceptions
    }
}

/// Returns a path without `..`, relative to a folder.
fn short(path: &Path, root: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole.strip_prefix(root).unwrap_or(&whole).to_str().unwrap().to_owned()
}

fn graph(crates: &[Modules], facades: Facades, root: &Path) -> Graph {
    let mut graph = Graph::default();
    for modules in crates {
        resolve::draw(modules, facades, |from, to, name| {
            let from = short(from, root);
            let is_generated = from.contains("/generated/") || from.ends_with("/generated.rs");
            if !is_generated {
                graph.add(&from, &short(to, root), name);
            }
        });
    }
    graph
}

/// Describes the circles of a graph, without the given pairs.
fn others(graph: &Graph, pairs: &[Pair]) -> String {
    let is_listed = |circle: &BTreeSet<&str>| {
        pairs.iter().any(|pair| pair.len() == circle.len() && circle.iter().all(|file| pair.contains(*file)))
    };
    let circles = graph.circles();
    circles.iter().filter(|circle| !is_listed(circle)).map(|circle| graph.describe(circle)).collect()
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let exceptions = Exceptions::read();
    assert!(exceptions.pairs.len() <= MOST_PAIRS, "exceptions.txt lists more than {MOST_PAIRS} pairs");
    assert!(PACKAGES.len() >= 20 && PACKAGES.contains_key("agentese-conformance"), "packages are missing");
    let (mut found, mut present) = (String::new(), BTreeSet::<Pair>::new());
    for (name, crates) in PACKAGES.iter() {
        let graph = graph(crates, Facades::Opaque, &root());
        let circles = others(&graph, &exceptions.pairs);
        if !circles.is_empty() {
            found += &format!("{name} has {circles}");
        }
        present.extend(
            graph.circles().into_iter().map(|circle| circle.into_iter().map(str::to_owned).collect()),
        );
    }
    assert!(found.is_empty(), "{found}move what both sides need into a file that both import");
    for pair in &exceptions.pairs {
        assert!(present.contains(pair), "no circle any more, remove its line from exceptions.txt: {pair:?}");
    }
}

#[test]
fn files_do_not_import_each_other_through_reexports() {
    let exceptions = Exceptions::read();
    let mut found = String::new();
    for (name, crates) in PACKAGES.iter() {
        let circles = others(&graph(crates, Facades::Followed, &root()), &exceptions.pairs);
        match exceptions.packages.contains(name) {
            true => {
                assert!(
                    !circles.is_empty(),
                    "no circle any more, remove the line of {name} from exceptions.txt"
                )
            }
            false if circles.is_empty() => {}
            false => found += &format!("{name} has {circles}"),
        }
    }
    assert!(found.is_empty(), "{found}move what both sides need into a file that both import");
    for name in &exceptions.packages {
        assert!(PACKAGES.contains_key(name), "exceptions.txt names {name}, which is no package");
    }
}

/// Returns the circles of an invented crate. In the text, each file follows its path, which is in brackets.
fn circles(text: &str, facades: Facades) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for part in text.split("\n[").skip(1) {
        let (path, code) = part.split_once(']').unwrap();
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, code).unwrap();
    }
    let graph = graph(&[Modules::read(&folder.path().join("lib.rs"))], facades, folder.path());
    let owned = |circle: BTreeSet<&str>| circle.into_iter().map(str::to_owned).collect();
    graph.circles().into_iter().map(owned).collect()
}

#[test]
fn a_circle_of_three_files_is_found_and_an_open_one_is_not() {
    let circle = "
[lib.rs] mod a; mod b; mod c;
[a.rs] use crate::b::B; pub struct A(B);
[b.rs] use super::c::{self, Other as C}; pub struct B(C); fn go() { c::go(); }
[c.rs] pub struct Other; pub fn go() -> Vec<crate::a::A> { vec![] }";
    for facades in [Facades::Opaque, Facades::Followed] {
        assert_eq!(circles(circle, facades), [["a.rs", "b.rs", "c.rs"]]);
        let open = circle.replace("crate::a::A", "u32");
        assert!(circles(&open, facades).is_empty());
    }
}

#[test]
fn names_are_found_in_all_kinds_of_code() {
    let back = [
        "use crate::a::A;",
        "use crate::{a::{A as Renamed}};",
        "use crate::a; fn f(_: a::A) {}",
        "use crate::a::*; fn f(_: A) {}",
        "fn f() { if let crate::a::A = crate::a::A {} }",
        "fn f() { use super::a::A; }",
        "fn f() { println!(\"{:?}\", crate::a::A); }",
        "made_up! { struct X { a: super::a::A } }",
        "macro_rules! make { () => { $crate::a::A } }",
        "fn f() { make_a!() }",
        "#[serde(with = \"crate::a::A\")] struct X;",
        "use crate::facade::A;",
        "use crate::facade::Renamed;",
        "mod inner { use super::super::a::A; }",
        "#[cfg(any(test, unix))] use crate::a::A;",
    ];
    for code in back {
        let text = format!(
            "
[lib.rs] mod facade; mod a; mod b;
[facade.rs] pub use crate::a::{{A, A as Renamed}};
[a.rs] use crate::b::B; pub struct A; macro_rules! make_a {{ () => {{}} }}
[b.rs] pub struct B; {code}"
        );
        assert_eq!(circles(&text, Facades::Opaque), [["a.rs", "b.rs"]], "{code}");
    }
    let no_use = [
        "#[cfg(test)] mod tests { use crate::a::A; }",
        "#[cfg(all(test, unix))] use crate::a::A;",
        "pub use crate::a::A;",
        "use crate::a;",
        "use ::other::a::A;",
        "fn f() { x.a(); A }",
        "pub(in crate::a) struct X;",
        "/// [`crate::a::A`]\nstruct X;",
    ];
    for code in no_use {
        let text = format!(
            "
[lib.rs] mod a; mod b;
[a.rs] use crate::b::B; pub struct A;
[b.rs] pub struct B; {code}"
        );
        assert!(circles(&text, Facades::Followed).is_empty(), "{code}");
    }
}

#[test]
fn a_module_and_the_files_of_its_folder_are_no_circle() {
    let text = "
[lib.rs] mod a;
[a.rs] mod one; mod two; pub use one::One; pub struct A; pub fn go() { one::one(); two::two() }
[a/one.rs] use super::A; pub struct One; pub fn one() { super::two::two() }
[a/two.rs] use super::{A, One}; pub fn two() {}";
    assert!(circles(text, Facades::Opaque).is_empty());
    assert_eq!(circles(text, Facades::Followed), [["a/one.rs", "a/two.rs"]]);
    let around = "
[lib.rs] mod a; mod b;
[a.rs] mod one; pub struct A; pub fn go() { one::one() }
[a/one.rs] pub fn one() { crate::b::b() }
[b.rs] use crate::a::A; pub fn b() {}";
    assert_eq!(circles(around, Facades::Opaque), [["a.rs", "a/one.rs", "b.rs"]]);
}
