//! Resolution of names in a module to the files that define them. Renames, groups, re-exports and globs are
//! followed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::modules::{Kind, Module, Modules};

/// A definition that a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// An item: the number of the module that defines it, and its kind.
    Item(usize, Kind),
}

type Targets = BTreeSet<Target>;

/// The imports and globs that one search has already followed. These are not followed again, so that a search
/// ends even if imports form a circle.
#[derive(Default)]
struct Search {
    /// Imports that are currently followed, each as the number of a module and the index of the import in it.
    imports: Vec<(usize, usize)>,
    /// Globs in which a name was searched, each as the number of a module and the name.
    globs: BTreeSet<(usize, String)>,
}

/// Treatment of names that a containing module only re-exports, as in `super::Engine`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Facades {
    /// The name is part of the containing module, and adds no arrow.
    Opaque,
    /// The name is followed to the file that defines it.
    Followed,
}

struct Resolver<'a> {
    modules: &'a Modules,
    facades: Facades,
    /// For each module, the targets of each of its globs.
    globs: Vec<Vec<Targets>>,
}

/// Finds the arrows of a crate. Calls `arrow` with the importing file, the defining file, and the imported
/// name.
pub fn draw(modules: &Modules, facades: Facades, mut arrow: impl FnMut(&Path, &Path, &str)) {
    let resolver = Resolver::new(modules, facades);
    for (number, module) in modules.all.iter().enumerate() {
        let mut add = |file: &Path, item: &str| {
            if !resolver.contains(file, number) {
                arrow(&module.file, file, item);
            }
        };
        for (path, targets) in resolver.named(number, module) {
            for target in targets {
                if let Target::Item(place, _) = target {
                    add(&modules.all[place].file, &path);
                }
            }
        }
        for call in &module.calls {
            let found = resolver.find(number, call, number, &mut Search::default());
            let by_order = modules.macros.get(call).filter(|_| found.is_empty()).map(|file| file.as_path());
            let by_name = found.iter().filter_map(|target| match target {
                Target::Item(place, Kind::Value) => Some(modules.all[*place].file.as_path()),
                _ => None,
            });
            by_name.chain(by_order).for_each(|file| add(file, &format!("{call}!")));
        }
    }
}

impl<'a> Resolver<'a> {
    fn new(modules: &'a Modules, facades: Facades) -> Self {
        let mut resolver = Self { modules, facades, globs: vec![Vec::new(); modules.all.len()] };
        for (number, module) in modules.all.iter().enumerate() {
            let targets = |glob: &Vec<String>| resolver.follow(number, glob, &mut Search::default());
            resolver.globs[number] = module.globs.iter().map(targets).collect();
        }
        resolver
    }

    /// Returns `true` if the file belongs to a module that contains this module.
    fn contains(&self, file: &Path, module: usize) -> bool {
        self.parents(module).any(|parent| self.modules.all[parent].file == file)
    }

    fn parents(&self, module: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parent(module), |parent| self.parent(*parent))
    }

    fn parent(&self, module: usize) -> Option<usize> {
        self.modules.all[module].parent
    }

    /// Returns the imports, globs and paths of a module, each with its targets.
    fn named(&self, number: usize, module: &Module) -> Vec<(String, Targets)> {
        let mut named = Vec::new();
        // A re-export adds no arrow itself; uses of the name are followed through it.
        for (place, import) in module.imports.iter().enumerate().filter(|(_, import)| !import.is_reexport) {
            let mut search = Search { imports: vec![(number, place)], ..Search::default() };
            named.push((import.path.join("::"), self.follow(number, &import.path, &mut search)));
        }
        // A glob import of a module adds arrows when its names are used. A glob import of an enum adds an
        // arrow itself.
        for (glob, targets) in module.globs.iter().zip(&self.globs[number]) {
            named.push((format!("{}::*", glob.join("::")), targets.clone()));
        }
        for path in &module.paths {
            // Any other single name is an item of this module, or an import that has its own arrow.
            let is_reexport =
                || module.imports.iter().any(|import| import.is_reexport && import.name == path[0]);
            if path.len() > 1 || !module.globs.is_empty() || is_reexport() {
                named.push((path.join("::"), self.follow(number, path, &mut Search::default())));
            }
        }
        named
    }

    /// Returns the targets of a path in a module. The set is empty if the path leads to another crate.
    fn follow(&self, module: usize, path: &[String], search: &mut Search) -> Targets {
        let mut targets = Targets::new();
        for (place, segment) in path.iter().enumerate() {
            targets = match (segment.as_str(), place) {
                ("crate", 0) => Targets::from([Target::Module(0)]),
                ("self", 0) => Targets::from([Target::Module(module)]),
                ("super", 0) => self.parent(module).map(Target::Module).into_iter().collect(),
                (name, 0) => self.find(module, name, module, search),
                (name, _) => {
                    let members = |target| self.member(target, name, module, search);
                    targets.into_iter().flat_map(members).collect()
                }
            };
        }
        targets
    }

    /// Finds a name inside a module or type. `from` is the module whose code contains the path.
    fn member(&self, target: Target, name: &str, from: usize, search: &mut Search) -> Targets {
        match target {
            Target::Module(module) if name == "super" => {
                self.parent(module).map(Target::Module).into_iter().collect()
            }
            Target::Module(module) => self.find(module, name, from, search),
            Target::Item(_, Kind::Type) => Targets::from([target]),
            Target::Item(_, Kind::Value) => Targets::new(),
        }
    }

    /// Finds a name in a module. Searches its definitions first, then its imports, and then its globs.
    fn find(&self, number: usize, name: &str, from: usize, search: &mut Search) -> Targets {
        let module = &self.modules.all[number];
        let mut targets = Targets::new();
        let children = module.children.iter().filter(|(child, _)| child == name);
        targets.extend(children.map(|(_, child)| Target::Module(*child)));
        let items = module.items.iter().filter(|(item, _)| item == name);
        targets.extend(items.map(|(_, kind)| Target::Item(number, *kind)));
        if !targets.is_empty() {
            return targets;
        }
        for (place, import) in module.imports.iter().enumerate().filter(|(_, import)| import.name == name) {
            if !search.imports.contains(&(number, place)) {
                search.imports.push((number, place));
                targets.extend(self.follow(number, &import.path, search));
                search.imports.pop();
            }
        }
        if targets.is_empty() && search.globs.insert((number, name.to_owned())) {
            for source in self.globs[number].iter().flatten() {
                if let Target::Module(_) = source {
                    targets.extend(self.member(*source, name, number, search));
                }
            }
        }
        if self.facades == Facades::Opaque && self.parents(from).any(|parent| parent == number) {
            targets.retain(|target| matches!(target, Target::Module(_)));
        }
        targets
    }
}
