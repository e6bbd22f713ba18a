//! The modules of a crate: the names that they define and import, and the paths in their code. Code that is
//! compiled only for tests is omitted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::tokens;

/// A path as segments: `crate::names::pascal` is `["crate", "names", "pascal"]`.
pub type Segments = Vec<String>;

/// Kind of a name. It decides if a path can continue after the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Types and traits. A path may continue after them, as in `Type::new`.
    Type,
    /// Functions, constants and macros, which end a path.
    Value,
}

/// A name that `use` brings into a module.
pub struct Import {
    pub name: String,
    pub path: Segments,
    /// `true` if other modules can import the name from this module.
    pub is_reexport: bool,
}

/// A module: a file, or a `mod` block within a file.
pub struct Module {
    pub file: PathBuf,
    pub parent: Option<usize>,
    pub children: Vec<(String, usize)>,
    pub items: Vec<(String, Kind)>,
    pub imports: Vec<Import>,
    /// Paths of the glob imports, without `::*`.
    pub globs: Vec<Segments>,
    /// The paths in expressions, types, patterns, attributes and arguments of macros.
    pub paths: Vec<Segments>,
    /// The names of macros that are called without a path.
    pub calls: Vec<String>,
}

/// All modules of a crate. The first one is its root.
#[derive(Default)]
pub struct Modules {
    pub all: Vec<Module>,
    /// The file that defines each macro. A macro that is called without a path is resolved by the order of
    /// the text, not by modules.
    pub macros: BTreeMap<String, PathBuf>,
}

impl Modules {
    /// Reads a crate from its root, `lib.rs` or `main.rs`.
    pub fn read(root: &Path) -> Self {
        let mut modules = Self::default();
        modules.read_file(root, None, root.parent().unwrap());
        modules
    }

    fn read_file(&mut self, file: &Path, parent: Option<usize>, folder: &Path) -> usize {
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let number = self.add(file, parent);
        if !syntax.attrs.iter().any(is_for_tests) {
            let mut reader = Reader { modules: self, number, folder: folder.to_owned() };
            reader.visit_file(&syntax);
        }
        number
    }

    fn add(&mut self, file: &Path, parent: Option<usize>) -> usize {
        self.all.push(Module {
            file: file.to_owned(),
            parent,
            children: Vec::new(),
            items: Vec::new(),
            imports: Vec::new(),
            globs: Vec::new(),
            paths: Vec::new(),
            calls: Vec::new(),
        });
        self.all.len() - 1
    }
}

/// Reader of the items of one module.
struct Reader<'a> {
    modules: &'a mut Modules,
    number: usize,
    /// The folder that contains the files of the child modules.
    folder: PathBuf,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        &mut self.modules.all[self.number]
    }

    fn define(&mut self, name: &syn::Ident, kind: Kind) {
        self.module().items.push((tokens::text(name), kind));
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], is_reexport: bool) {
        let with = |name: &syn::Ident| {
            let name = tokens::text(name);
            // In `use path::{self}`, the imported name is the path itself.
            let more = (name != "self" || before.is_empty()).then_some(name);
            before.iter().cloned().chain(more).collect::<Segments>()
        };
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_reexport),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, before, is_reexport))
            }
            syn::UseTree::Glob(_) => self.module().globs.push(before.to_vec()),
            syn::UseTree::Name(name) => {
                let path = with(&name.ident);
                let name = path.last().unwrap().clone();
                self.module().imports.push(Import { name, path, is_reexport });
            }
            syn::UseTree::Rename(renamed) => {
                let name = tokens::text(&renamed.rename);
                self.module().imports.push(Import { name, path: with(&renamed.ident), is_reexport });
            }
        }
    }

    /// Reads a child module that is a file of its own. Returns its number.
    fn child(&mut self, item: &syn::ItemMod) -> usize {
        let name = tokens::text(&item.ident);
        let given = item.attrs.iter().find_map(given_path);
        let file = given.as_ref().map(|path| match self.is_block() {
            true => self.folder.join(path),
            false => self.module().file.parent().unwrap().join(path),
        });
        let file = file.unwrap_or_else(|| self.folder.join(format!("{name}.rs")));
        let file = if file.exists() { file } else { self.folder.join(&name).join("mod.rs") };
        let is_root = given.is_some() || file.ends_with("mod.rs");
        let folder = if is_root { file.parent().unwrap().to_owned() } else { file.with_extension("") };
        self.modules.read_file(&file, Some(self.number), &folder)
    }

    fn is_block(&self) -> bool {
        let module = &self.modules.all[self.number];
        module.parent.is_some_and(|parent| self.modules.all[parent].file == module.file)
    }

    fn block(&mut self, item: &syn::ItemMod, items: &[syn::Item]) -> usize {
        let file = self.module().file.clone();
        let number = self.modules.add(&file, Some(self.number));
        let folder = self.folder.join(tokens::text(&item.ident));
        let mut reader = Reader { modules: self.modules, number, folder };
        items.iter().for_each(|item| reader.visit_item(item));
        number
    }

    fn tokens(&mut self, stream: &proc_macro2::TokenStream) {
        let found = tokens::read(stream.clone());
        self.module().paths.extend(found.paths);
        self.module().calls.extend(found.calls);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        match item {
            syn::Item::Const(item) => self.define(&item.ident, Kind::Value),
            syn::Item::Static(item) => self.define(&item.ident, Kind::Value),
            syn::Item::Fn(item) => self.define(&item.sig.ident, Kind::Value),
            syn::Item::Enum(item) => self.define(&item.ident, Kind::Type),
            syn::Item::Struct(item) => self.define(&item.ident, Kind::Type),
            syn::Item::Trait(item) => self.define(&item.ident, Kind::Type),
            syn::Item::TraitAlias(item) => self.define(&item.ident, Kind::Type),
            syn::Item::Type(item) => self.define(&item.ident, Kind::Type),
            syn::Item::Union(item) => self.define(&item.ident, Kind::Type),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let number = match &item.content {
            Some((_, items)) => self.block(item, items),
            None => self.child(item),
        };
        self.module().children.push((tokens::text(&item.ident), number));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A path that starts with `::` names another crate.
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let Some(name) = &item.ident else {
            // Macros such as `record!` define types, whose names are in their arguments.
            let defined = tokens::definitions(item.mac.tokens.clone());
            self.module().items.extend(defined);
            return visit::visit_item_macro(self, item);
        };
        self.define(name, Kind::Value);
        let file = self.module().file.clone();
        self.modules.macros.insert(tokens::text(name), file);
        // In the rules of a macro, only paths that start with `$crate` refer to names of this crate; other
        // paths are resolved by the callers.
        let paths = tokens::read(item.mac.tokens.clone()).paths;
        self.module().paths.extend(paths.into_iter().filter(|path| path[0] == "crate"));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !field.attrs.iter().any(is_for_tests) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !local.attrs.iter().any(is_for_tests) {
            visit::visit_local(self, local);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let path = path.segments.iter().map(|segment| tokens::text(&segment.ident)).collect();
            self.module().paths.push(path);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.get_ident() {
            self.module().calls.push(tokens::text(name));
        }
        self.visit_path(&call.path);
        self.tokens(&call.tokens);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        match &attribute.meta {
            syn::Meta::Path(_) => {}
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => {}
            syn::Meta::NameValue(pair) => self.visit_expr(&pair.value),
            syn::Meta::List(list) => {
                self.tokens(&list.tokens);
                if list.path.is_ident("serde") {
                    // Attributes of serde contain paths in quotes.
                    self.module().paths.extend(tokens::quoted(list.tokens.clone()));
                }
            }
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(syn::ItemConst { attrs, .. })
        | syn::Item::Enum(syn::ItemEnum { attrs, .. })
        | syn::Item::ExternCrate(syn::ItemExternCrate { attrs, .. })
        | syn::Item::Fn(syn::ItemFn { attrs, .. })
        | syn::Item::ForeignMod(syn::ItemForeignMod { attrs, .. })
        | syn::Item::Impl(syn::ItemImpl { attrs, .. })
        | syn::Item::Macro(syn::ItemMacro { attrs, .. })
        | syn::Item::Mod(syn::ItemMod { attrs, .. })
        | syn::Item::Static(syn::ItemStatic { attrs, .. })
        | syn::Item::Struct(syn::ItemStruct { attrs, .. })
        | syn::Item::Trait(syn::ItemTrait { attrs, .. })
        | syn::Item::TraitAlias(syn::ItemTraitAlias { attrs, .. })
        | syn::Item::Type(syn::ItemType { attrs, .. })
        | syn::Item::Union(syn::ItemUnion { attrs, .. })
        | syn::Item::Use(syn::ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}

/// Returns `true` if the attribute is `#[cfg(test)]`, or another condition that is true only in tests.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg") && list.parse_args::<syn::Meta>().is_ok_and(|condition| needs_test(&condition))
}

fn needs_test(condition: &syn::Meta) -> bool {
    let syn::Meta::List(list) = condition else { return condition.path().is_ident("test") };
    let separated = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    let Ok(parts) = list.parse_args_with(separated) else { return false };
    (list.path.is_ident("all") && parts.iter().any(needs_test))
        || (list.path.is_ident("any") && parts.iter().all(needs_test))
}

/// Returns the file in an attribute `#[path = "…"]`.
fn given_path(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else { return None };
    pair.path.is_ident("path").then(|| path.value())
}
