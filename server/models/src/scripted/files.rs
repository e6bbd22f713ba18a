//! Choice of the files that best describe a directory, and short remarks about them.

/// Maximum number of files to read.
const MAX_FILES: usize = 2;

/// Names of files that describe a project, best first. A README comes before all of them.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
    "setup.py",
    "composer.json",
    "Gemfile",
    "mix.exs",
    "deno.json",
    "Makefile",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "requirements.txt",
    "Dockerfile",
];

/// Extensions of files with text that people write.
const TEXT: &[&str] = &[
    "md", "txt", "rst", "adoc", "rs", "py", "ts", "js", "go", "java", "kt", "c", "h", "cpp", "rb", "php",
    "swift", "sh", "toml", "yaml", "yml", "json", "html", "css", "csv",
];

/// Returns the files to read, most informative first. Returns an empty list for a directory without text
/// files.
pub(super) fn informative_files(entries: &[String]) -> Vec<&str> {
    let files = || entries.iter().map(String::as_str).filter(|name| !name.ends_with('/'));
    let readme = files().filter(|name| name.to_lowercase().starts_with("readme"));
    let manifests = MANIFESTS.iter().filter_map(|known| files().find(|name| name == known));
    let texts = files().filter(|name| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
        extension.is_some_and(|extension| TEXT.contains(&extension.as_str()))
    });
    let mut chosen: Vec<&str> = Vec::new();
    for name in readme.take(1).chain(manifests).chain(texts) {
        if chosen.len() == MAX_FILES {
            break;
        }
        if !chosen.contains(&name) {
            chosen.push(name);
        }
    }
    chosen
}

/// Returns the first heading of a Markdown text.
pub(super) fn heading(text: &str) -> Option<&str> {
    let heading = text.lines().find_map(|line| line.trim().strip_prefix("# "))?.trim();
    (!heading.is_empty()).then_some(heading)
}

/// Returns the first sentence of the first paragraph. Removes markup at its start and end, and cuts it after
/// `longest` characters.
pub(super) fn first_sentence(text: &str, longest: usize) -> Option<String> {
    let is_prose = |line: &&str| {
        line.chars()
            .next()
            .is_some_and(|first| first.is_alphabetic() || matches!(first, '*' | '_' | '`' | '"'))
    };
    let lines = text.lines().map(str::trim).skip_while(|line| !is_prose(line));
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    let sentence = paragraph[..end].trim_matches(|edge| matches!(edge, '*' | '_'));
    if sentence.is_empty() {
        return None;
    }
    Some(shortened(sentence, longest))
}

/// Returns at most `longest` characters of a text. A cut text ends in an ellipsis.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

/// Returns a remark about a file that is not a README. It continues a sentence that begins with the name of
/// the file.
pub(super) fn remark(name: &str, text: &str) -> String {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let rest =
                line.trim().trim_start_matches('"').strip_prefix(key)?.trim_start_matches('"').trim_start();
            let rest = rest.strip_prefix(['=', ':'])?.trim();
            Some(rest.trim_matches([',', '"', '\'', ' ']).to_owned())
        })
    };
    if name == "Cargo.toml" && text.contains("[workspace]") {
        let list = text.split_once("members").and_then(|(_, rest)| rest.split_once('[')?.1.split_once(']'));
        if let Some((list, _)) = list {
            let members: Vec<_> = list.split('"').skip(1).step_by(2).collect();
            return format!("is a Cargo workspace of {} crates: {}", members.len(), members.join(", "));
        }
        return "is a Cargo workspace".to_owned();
    }
    if MANIFESTS.contains(&name)
        && let Some(project) = value("name").filter(|project| !project.is_empty())
    {
        return format!("names the project “{}”", shortened(&project, 80));
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    match (heading(text), first) {
        (Some(heading), _) => format!("is headed “{}”", shortened(heading, 120)),
        (None, Some(line)) => format!("begins with `{}`", shortened(line, 120)),
        (None, None) => "is empty".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(entries: &[&str]) -> Vec<String> {
        let entries: Vec<_> = entries.iter().map(|name| (*name).to_owned()).collect();
        informative_files(&entries).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn the_readme_comes_first_and_two_are_enough() {
        assert_eq!(choose(&["Makefile", "Cargo.toml", "README.md", "a.txt"]), ["README.md", "Cargo.toml"]);
        assert_eq!(choose(&["b.bin", "notes.TXT", "readme/"]), ["notes.TXT"]);
        assert_eq!(choose(&["ReadMe", "x.py", "y.py"]), ["ReadMe", "x.py"]);
        assert!(choose(&["photo.jpg", "src/"]).is_empty());
        assert!(choose(&[]).is_empty());
    }

    #[test]
    fn heading_and_opening_skip_badges_and_markup() {
        let text = "[![badge](x)](y)\n<p>\n\n# The thing\n\n**It does this. And that.**\n";
        assert_eq!(heading(text), Some("The thing"));
        assert_eq!(first_sentence(text, 100).as_deref(), Some("It does this."));
        assert_eq!(first_sentence("# Only a heading\n", 100), None);
        assert_eq!(first_sentence("Äußerst lang", 6).as_deref(), Some("Äußers…"));
    }

    #[test]
    fn a_manifest_names_the_project() {
        assert_eq!(
            remark("Cargo.toml", "[workspace]\nmembers = [\n  \"a\",\n  \"b\",\n]\n"),
            "is a Cargo workspace of 2 crates: a, b"
        );
        assert_eq!(remark("Cargo.toml", "[package]\nname = \"x\"\n"), "names the project “x”");
        assert_eq!(remark("package.json", "{\n  \"name\": \"y\",\n}"), "names the project “y”");
        assert_eq!(remark("notes.txt", "\nhello\n"), "begins with `hello`");
        assert_eq!(remark("notes.txt", ""), "is empty");
    }
}
