//! Syntax highlighting of code.
//!
//! Grammars assign thousands of different scopes to code. [`KINDS`] maps them to a few classes. Each class
//! has a colour in the style sheet, for light and dark. Code that is too long, or has no grammar, is shown as
//! plain text.

use std::cell::Cell;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use maud::{Markup, PreEscaped, html};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// The maximum length of a highlighted block, in bytes.
const LONGEST_BLOCK: usize = 64 << 10;
/// The maximum length of a highlighted line, in bytes. Longer lines are rarely written by people, and
/// grammars are slow on them.
const LONGEST_LINE: usize = 400;
/// The maximum amount of highlighted code on one page, in bytes.
const PAGE_BUDGET: usize = 512 << 10;
/// Time limit for the highlighting of one page. Texts made for this purpose can slow grammars down a thousand
/// times.
const PAGE_TIME: Duration = Duration::from_secs(5);

/// Scopes of grammars, and their CSS classes; an empty class means plain text. The innermost scope with a
/// match applies. If several rows match this scope, the longest one applies.
const KINDS: &[(&str, &str)] = &[
    ("comment", "c"),
    ("string", "s"),
    ("string.unquoted", ""),
    ("constant", "n"),
    ("constant.character.escape", "e"),
    ("punctuation.definition.comment", "c"),
    ("keyword", "k"),
    ("keyword.operator", ""),
    ("keyword.operator.word", "k"),
    ("keyword.operator.logical.python", "k"),
    ("storage", "k"),
    ("storage.type.function", "k"),
    ("entity.name.function", "f"),
    ("support.function", "f"),
    ("variable.function", "f"),
    ("entity.name", "t"),
    ("entity.name.label", ""),
    ("entity.other.inherited-class", "t"),
    ("support.type", "t"),
    ("support.class", "t"),
    ("support.type.property-name", "a"),
    ("entity.name.tag", "k"),
    ("entity.name.tag.toml", "a"),
    ("entity.name.tag.yaml", "a"),
    ("entity.other.attribute-name", "a"),
    ("variable.language", "k"),
    ("variable.parameter.option", "a"),
    ("variable.other.readwrite.shell", "a"),
    ("markup.heading", "h"),
    ("entity.name.section", "h"),
    ("markup.inserted", "i"),
    ("markup.deleted", "d"),
    ("markup.raw", "s"),
    ("meta.diff.header", "h"),
    ("meta.diff.range", "c"),
    ("meta.interpolation", ""),
    ("source", ""),
    ("text", ""),
];

/// The scope of names of members in JSON. A string inside this scope is such a name.
static MEMBER_NAME: LazyLock<Scope> =
    LazyLock::new(|| Scope::new("meta.mapping.key.json").expect("a plain scope"));

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

static SCOPES: LazyLock<Vec<(Scope, &str)>> = LazyLock::new(|| {
    let mut scopes: Vec<_> =
        KINDS.iter().filter_map(|&(scope, class)| Some((Scope::new(scope).ok()?, class))).collect();
    scopes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
    scopes
});

/// The language of a code block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Language<'a> {
    /// The language is given by the first word after the opening fence of a code block: a language or a file
    /// extension.
    Named(&'a str),
    /// The language is given by the path of the file that contains the code.
    OfFile(&'a str),
}

impl Language<'_> {
    fn grammar(self) -> Option<&'static SyntaxReference> {
        match self {
            Self::Named("") => None,
            Self::Named(name) => GRAMMARS.find_syntax_by_token(name),
            Self::OfFile(path) => {
                let name = Path::new(path).file_name()?.to_str()?;
                let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
                let whole = GRAMMARS.find_syntax_by_extension(name);
                whole.or_else(|| GRAMMARS.find_syntax_by_extension(ending?))
            }
        }
    }
}

/// Highlights code until the limits of the page are reached.
#[derive(Debug)]
pub(super) struct Highlighter {
    bytes_left: Cell<usize>,
    time_left: Cell<Duration>,
}

impl Default for Highlighter {
    fn default() -> Self {
        Self { bytes_left: Cell::new(PAGE_BUDGET), time_left: Cell::new(PAGE_TIME) }
    }
}

impl Highlighter {
    /// Returns the code as escaped HTML. If the language is known, its tokens are in elements with classes.
    pub fn code(&self, text: &str, language: Language) -> Markup {
        let Some(grammar) =
            language.grammar().filter(|_| text.len() <= LONGEST_BLOCK.min(self.bytes_left.get()))
        else {
            return html! { (text) };
        };
        self.bytes_left.set(self.bytes_left.get() - text.len());
        let mut printer = Printer::default();
        let mut state = ParseState::new(grammar);
        let mut stack = ScopeStack::new();
        let start = Instant::now();
        let time_left = self.time_left.get();
        for line in text.split_inclusive('\n') {
            let operations = match line.len() {
                0..=LONGEST_LINE if start.elapsed() < time_left => {
                    state.parse_line(line, &GRAMMARS).unwrap_or_default()
                }
                _ => Vec::new(),
            };
            let mut done = 0;
            for (at, operation) in operations {
                printer.text(&line[done..at], class(&stack));
                done = at;
                if stack.apply(&operation).is_err() {
                    stack = ScopeStack::new();
                }
            }
            printer.text(&line[done..], class(&stack));
        }
        self.time_left.set(time_left.saturating_sub(start.elapsed()));
        printer.finish()
    }
}

fn class(stack: &ScopeStack) -> &'static str {
    if stack.as_slice().iter().any(|&scope| MEMBER_NAME.is_prefix_of(scope)) {
        return "a";
    }
    let row = |&scope: &Scope| SCOPES.iter().find(|(prefix, _)| prefix.is_prefix_of(scope));
    stack.as_slice().iter().rev().find_map(row).map_or("", |(_, class)| class)
}

/// Collects tokens, and joins adjacent tokens of one class.
#[derive(Default)]
struct Printer {
    out: String,
    class: &'static str,
    run: String,
}

impl Printer {
    fn text(&mut self, text: &str, class: &'static str) {
        // White space has no colour, so it does not end a class.
        if class != self.class && !text.trim().is_empty() {
            self.flush();
            self.class = class;
        }
        self.run.push_str(text);
    }

    fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        let markup = match self.class {
            "" => html! { (run) },
            class => html! { span class=(class) { (run) } },
        };
        self.out.push_str(&markup.0);
    }

    fn finish(mut self) -> Markup {
        self.flush();
        PreEscaped(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, name: &str) -> String {
        Highlighter::default().code(text, Language::Named(name)).0
    }

    #[test]
    fn every_row_of_the_table_is_a_scope() {
        for (scope, _) in KINDS {
            assert!(Scope::new(scope).is_ok(), "{scope}");
        }
    }

    #[test]
    fn languages_are_found_by_name_ending_and_file() {
        for name in [
            "rust",
            "rs",
            "ts",
            "typescript",
            "tsx",
            "toml",
            "py",
            "bash",
            "json",
            "dockerfile",
            "go",
            "diff",
        ] {
            assert!(Language::Named(name).grammar().is_some(), "{name}");
        }
        for path in ["src/main.rs", "/a/b.ts", "Makefile", "x/Dockerfile", "Cargo.toml", ".bashrc"] {
            assert!(Language::OfFile(path).grammar().is_some(), "{path}");
        }
        for path in ["", "/", "notes", "a.unheard-of"] {
            assert!(Language::OfFile(path).grammar().is_none(), "{path}");
        }
    }

    #[test]
    fn tokens_are_marked_and_text_is_escaped() {
        assert_eq!(
            named("let a = \"<b>\"; // c & d\n", "rust"),
            "<span class=\"k\">let</span> a = <span class=\"s\">&quot;&lt;b&gt;&quot;</span>; \
             <span class=\"c\">// c &amp; d\n</span>"
        );
        assert_eq!(
            named("{\"a\": \"b\"}", "json"),
            "{<span class=\"a\">&quot;a&quot;</span>: <span class=\"s\">&quot;b&quot;</span>}"
        );
        assert_eq!(named("<script>", "klingon"), "&lt;script&gt;");
        assert_eq!(named("a < b", ""), "a &lt; b");
    }

    #[test]
    fn text_is_never_lost() {
        let text = "fn f() {\n  'a: loop { break 'a }\n}\n\n\"open string\nµ\r\n";
        for name in ["rust", "python", "html", "markdown", "diff", "json", "sh"] {
            let shown = named(text, name);
            let mut plain = String::new();
            let mut inside = false;
            for character in shown.chars() {
                match character {
                    '<' => inside = true,
                    '>' if inside => inside = false,
                    _ if !inside => plain.push(character),
                    _ => {}
                }
            }
            assert_eq!(plain.replace("&quot;", "\""), text, "{name}");
        }
    }

    #[test]
    fn code_over_the_limit_stays_plain() {
        let line = format!("let a = \"{}\";\n", "x".repeat(LONGEST_LINE));
        assert!(!named(&line, "rust").contains("<span"));
        let highlighter = Highlighter { bytes_left: Cell::new(8), ..Highlighter::default() };
        assert!(highlighter.code("let a;\n", Language::Named("rust")).0.contains("<span"));
        assert!(!highlighter.code("let a;\n", Language::Named("rust")).0.contains("<span"));
        let hurried = Highlighter { time_left: Cell::new(Duration::ZERO), ..Highlighter::default() };
        assert_eq!(hurried.code("let a;\nlet b;\n", Language::Named("rust")).0, "let a;\nlet b;\n");
    }
}
