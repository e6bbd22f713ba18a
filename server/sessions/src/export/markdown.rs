//! Conversion of Markdown to HTML with few tags.
//!
//! This file contains every tag that Markdown can produce on the page. HTML in the source is shown as text. A
//! picture becomes a link, so that the page loads nothing. Only a link that begins with one of [`SCHEMES`]
//! can be clicked.

use maud::{Escaper, Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write;

use super::format;
use super::highlight::{Highlighter, Language};

/// The schemes with which a link can be clicked.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// The nesting depth from which blocks are shown without tags. Browsers support only a few hundred levels.
const DEEPEST: usize = 48;

/// Rendering of a single line end in a paragraph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LineEnds {
    /// The line end becomes a space, as in Markdown.
    Spaces,
    /// The line end is kept, because people press return to get one.
    Kept,
}

/// Renders Markdown as HTML. Never fails, because every text is valid Markdown.
pub(super) fn markdown(source: &str, line_ends: LineEnds, highlighter: &Highlighter) -> Markup {
    let mut renderer = Renderer {
        out: String::with_capacity(source.len() * 5 / 4),
        closing: Vec::new(),
        links: 0,
        alignments: Vec::new(),
        column: 0,
        in_head: false,
        code: None,
        line_ends,
        highlighter,
    };
    for event in Parser::new_ext(source, options()) {
        renderer.event(event);
    }
    PreEscaped(renderer.out)
}

/// Returns the beginning of a text on one line, without Markdown syntax, in at most `longest` characters.
pub(super) fn preview(source: &str, longest: usize) -> String {
    // Marks never exceed the length of the marked text by more than this factor.
    let beginning = source.char_indices().nth(longest * 4).map_or(source, |(end, _)| &source[..end]);
    let mut plain = String::new();
    for event in Parser::new_ext(beginning, options()) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                plain.push_str(&text)
            }
            Event::SoftBreak | Event::HardBreak => plain.push(' '),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell | TagEnd::CodeBlock,
            ) => {
                plain.push(' ');
            }
            _ => {}
        }
    }
    // A text that consists of marks is shown unchanged.
    let plain = if plain.trim().is_empty() { beginning } else { &plain };
    format::preview(&plain.split_whitespace().collect::<Vec<_>>().join(" "), longest)
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

struct Renderer<'a> {
    out: String,
    /// Closing tags of the open elements. A tag is empty if the opening tag was left out.
    closing: Vec<String>,
    /// Number of open links. It is needed because HTML forbids links inside links.
    links: usize,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
    /// The language and text of the open code block.
    code: Option<(String, String)>,
    line_ends: LineEnds,
    highlighter: &'a Highlighter,
}

impl Renderer<'_> {
    fn event(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => self.out.push_str(&html! { code { (text.as_ref()) } }.0),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text)
            }
            Event::SoftBreak if self.line_ends == LineEnds::Spaces => self.out.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag) {
        match tag {
            Tag::Paragraph => self.open("<p>", "</p>"),
            Tag::Heading { level, .. } => {
                let tag = heading(level);
                self.open(&format!("<{tag}>"), &format!("</{tag}>"));
            }
            Tag::BlockQuote(_) => self.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(words) => words.split([' ', ',', '{']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
                self.open("", "");
            }
            Tag::HtmlBlock => self.open("<p class=\"verbatim\">", "</p>"),
            Tag::List(None) => self.open("<ul>", "</ul>"),
            Tag::List(Some(1)) => self.open("<ol>", "</ol>"),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">"), "</ol>"),
            Tag::Item => self.open("<li>", "</li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.open("<div class=\"table\"><table>", "</tbody></table></div>");
            }
            Tag::TableHead => {
                (self.column, self.in_head) = (0, true);
                self.open("<thead><tr>", "</tr></thead><tbody>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.open("<tr>", "</tr>");
            }
            Tag::TableCell => {
                let class = match self.alignments.get(self.column) {
                    Some(Alignment::Right) => " class=\"right\"",
                    Some(Alignment::Center) => " class=\"center\"",
                    _ => "",
                };
                let tag = if self.in_head { "th" } else { "td" };
                self.open(&format!("<{tag}{class}>"), &format!("</{tag}>"));
                self.column += 1;
            }
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<del>", "</del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.link(&dest_url, "Picture: "),
            // These are not enabled in the options.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.open("", ""),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                let (language, code) = self.code.take().unwrap_or_default();
                let code = self.highlighter.code(&code, Language::Named(&language));
                self.out.push_str(&html! { pre { code { (code) } } }.0);
            }
            TagEnd::TableHead => self.in_head = false,
            TagEnd::Link | TagEnd::Image => self.links = self.links.saturating_sub(1),
            _ => {}
        }
        if let Some(closing) = self.closing.pop() {
            self.out.push_str(&closing);
        }
    }

    fn open(&mut self, opening: &str, closing: &str) {
        let shown = self.closing.len() < DEEPEST;
        self.out.push_str(if shown { opening } else { " " });
        self.closing.push(if shown { closing.to_owned() } else { String::new() });
    }

    /// Writes a link. If its address is not permitted, or another link is open, writes the text with the
    /// address.
    fn link(&mut self, address: &str, prefix: &str) {
        self.links += 1;
        if self.links == 1 && is_harmless(address) {
            let link = html! { a href=(address) rel="noopener noreferrer" { (prefix) } }.0;
            self.open(link.trim_end_matches("</a>"), "</a>");
        } else {
            let destination = html! { " " span class="address" { "(" (address) ")" } }.0;
            self.out.push_str(prefix);
            self.open("", &destination);
        }
    }

    fn text(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = Escaper::new(&mut self.out).write_str(text);
    }
}

fn is_harmless(address: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// Returns the tag of a heading. Headings of a message get a lower level than the headings of the page.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h3",
        HeadingLevel::H2 => "h4",
        HeadingLevel::H3 => "h5",
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => "h6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str) -> String {
        markdown(source, LineEnds::Spaces, &Highlighter::default()).0
    }

    #[test]
    fn usual_markdown() {
        assert_eq!(
            rendered("# A\n\nb *c* **d** ~~e~~ `f<`\n\n- [x] g\n- h"),
            "<h3>A</h3><p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f&lt;</code></p>\
             <ul><li>☑ g</li><li>h</li></ul>"
        );
        assert_eq!(
            rendered("| a | b |\n|--:|---|\n| 1 | 2 |"),
            "<div class=\"table\"><table><thead><tr><th class=\"right\">a</th><th>b</th></tr></thead>\
             <tbody><tr><td class=\"right\">1</td><td>2</td></tr></tbody></table></div>"
        );
        assert_eq!(rendered("```rust\nfn\n```"), "<pre><code><span class=\"k\">fn\n</span></code></pre>");
        let kept = markdown("a\nb", LineEnds::Kept, &Highlighter::default());
        assert_eq!((rendered("a\nb"), kept.0), ("<p>a\nb</p>".into(), "<p>a<br>b</p>".into()));
    }

    #[test]
    fn previews_have_no_marks() {
        assert_eq!(preview("The `a` **is**:\n\n- *b*\n- <c>", 80), "The a is: b <c>");
        assert_eq!(preview("# Title\n\ntext", 7), "Title t…");
        assert_eq!(preview("---", 80), "---");
    }

    #[test]
    fn fm_f115_html_in_markdown_is_text() {
        assert_eq!(
            rendered("a <img src=x onerror=alert(1)> b\n\n<script>\nalert(1)\n</script>"),
            "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\
             <p class=\"verbatim\">&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>"
        );
        assert_eq!(
            rendered("```\"><script>\n</code><script>\n```"),
            "<pre><code>&lt;/code&gt;&lt;script&gt;\n</code></pre>"
        );
    }

    #[test]
    fn fm_f115_links_lead_to_the_web_or_nowhere() {
        assert_eq!(
            rendered("[a](https://a.example/?b=\"&c)"),
            "<p><a href=\"https://a.example/?b=&quot;&amp;c\" rel=\"noopener noreferrer\">a</a></p>"
        );
        let nowhere = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "&#106;avascript:alert(1)",
            "java&Tab;script:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "//host/path",
            "src/main.rs",
            "#top",
        ];
        for address in nowhere {
            for source in
                [format!("[a]({address})"), format!("![a]({address})"), format!("[a]\n\n[a]: {address}")]
            {
                let shown = rendered(&source);
                assert!(!shown.contains("href") && !shown.contains("src="), "{source}: {shown}");
            }
        }
        assert!(!rendered("<javascript:alert(1)>").contains("href"));
        assert_eq!(
            rendered("![a](https://a.example/b.png)"),
            "<p><a href=\"https://a.example/b.png\" rel=\"noopener noreferrer\">Picture: a</a></p>"
        );
        assert_eq!(rendered("[![a](https://b.example)](https://c.example)").matches("<a ").count(), 1);
        assert_eq!(rendered("[a](src/main.rs)"), "<p>a <span class=\"address\">(src/main.rs)</span></p>");
    }

    #[test]
    fn depth_is_bounded_and_tags_are_balanced() {
        for source in
            [">".repeat(5_000) + "a", "- ".repeat(3_000) + "a", "*a ".repeat(5_000), "[".repeat(5_000)]
        {
            let shown = rendered(&source);
            assert!(shown.matches("<blockquote>").count() <= DEEPEST, "{}", shown.len());
            for tag in ["blockquote", "ul", "li", "p", "em"] {
                let count = |tag: String| shown.matches(&tag).count();
                assert_eq!(count(format!("<{tag}>")), count(format!("</{tag}>")), "{tag}");
            }
        }
    }
}
