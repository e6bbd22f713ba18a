//! Paths and definitions in the arguments of macros, which are tokens without a known grammar.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use crate::modules::{Kind, Segments};

/// The paths in a token stream, and the names of the macros that it calls.
#[derive(Default)]
pub struct MacroNames {
    pub paths: Vec<Segments>,
    pub calls: Vec<String>,
}

/// Returns the text of a name, without the prefix `r#` of a raw identifier.
pub fn text(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix("r#").map_or_else(|| text.clone(), str::to_owned)
}

/// Finds the paths and the calls of macros in tokens, at any depth.
pub fn read(stream: TokenStream) -> MacroNames {
    let mut found = MacroNames::default();
    walk(stream, &[], &mut found);
    found
}

fn walk(stream: TokenStream, before: &[String], found: &mut MacroNames) {
    let mut tokens = stream.into_iter().peekable();
    let mut path: Segments = Vec::new();
    let mut after_dot = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(name) => {
                let is_member = std::mem::take(&mut after_dot) && path.is_empty();
                path.push(text(&name));
                let mut colons = 0;
                while colons < 2 && tokens.next_if(|token| is_mark(token, ':')).is_some() {
                    colons += 1;
                }
                match (colons, tokens.peek()) {
                    (2, Some(TokenTree::Ident(_))) => continue,
                    (2, Some(TokenTree::Group(group))) if group.delimiter() == Delimiter::Brace => {
                        let before = [before, &path].concat();
                        walk(group.stream(), &before, found);
                        tokens.next();
                    }
                    (_, Some(token)) if path.len() == 1 && is_mark(token, '!') => {
                        found.calls.push(path[0].clone())
                    }
                    _ if is_member => {}
                    _ => found.paths.push([before, &path].concat()),
                }
                path.clear();
            }
            TokenTree::Group(group) => walk(group.stream(), &[], found),
            token => after_dot = is_mark(&token, '.'),
        }
    }
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Returns the names that keywords such as `struct` and `fn` define in the arguments of a macro.
pub fn definitions(stream: TokenStream) -> Vec<(String, Kind)> {
    let mut defined = Vec::new();
    let mut kind = None;
    for token in stream {
        let TokenTree::Ident(name) = token else {
            kind = None;
            continue;
        };
        if let Some(kind) = kind.take() {
            defined.push((text(&name), kind));
            continue;
        }
        kind = match text(&name).as_str() {
            "struct" | "enum" | "trait" | "type" | "union" => Some(Kind::Type),
            "fn" | "const" | "static" => Some(Kind::Value),
            _ => None,
        };
    }
    defined
}

/// Returns the paths inside string literals.
pub fn quoted(stream: TokenStream) -> Vec<Segments> {
    let literal = |token: TokenTree| match token {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        _ => None,
    };
    let segments =
        |path: syn::Path| path.segments.iter().map(|segment| text(&segment.ident)).collect::<Segments>();
    let paths = stream.into_iter().filter_map(literal).filter_map(|text| text.parse::<syn::Path>().ok());
    paths.map(segments).filter(|path| path.len() > 1).collect()
}
