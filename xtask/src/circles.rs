//! Circles of imports: files of a crate that need each other, so that none of them can be read alone.

use std::collections::{BTreeMap, BTreeSet};

const FILES_MAX: usize = 5;
/// How a line begins that imports, or gives a name on.
const USES: &[&str] = &["use ", "pub use ", "pub(crate) use ", "pub(super) use "];

type Name = Vec<String>;

#[derive(Default)]
struct Module {
    uses: Vec<Name>,
    /// The names that it gives on, which is no use of them, and what each stands for.
    gives_on: BTreeMap<String, Name>,
}

/// A sentence for each circle that is too large among these files and their texts.
pub(crate) fn too_large(files: &[(&str, String)]) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeMap<Name, &str>> = BTreeMap::new();
    for (file, text) in files {
        let path = file.strip_prefix("crates/").and_then(|file| file.strip_suffix(".rs"));
        let Some((of, path)) = path.and_then(|path| path.split_once("/src/")) else { continue };
        let mut name: Name = path.split('/').map(str::to_owned).collect();
        if name.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
            name.pop();
        }
        crates.entry(of).or_default().insert(name, text);
    }
    let mut found = Vec::new();
    for (of, files) in crates {
        for circle in circles(&files).into_iter().filter(|circle| circle.len() > FILES_MAX) {
            let names: Vec<String> = circle.iter().map(|name| name.join("/")).collect();
            found.push(format!(
                "crates/{of}/src: {} files import each other in a circle, at most {FILES_MAX} may: {}; move what they share \
                 to a file below them",
                names.len(),
                names.join(", ")
            ));
        }
    }
    found
}

fn circles(files: &BTreeMap<Name, &str>) -> BTreeSet<BTreeSet<Name>> {
    let modules: BTreeMap<&Name, Module> =
        files.iter().map(|(name, text)| (name, read(name, text, files))).collect();
    let next = |at: &Name| -> Vec<Name> {
        modules[at].uses.iter().filter_map(|name| file_of(name, &modules)).collect()
    };
    let reached = |from: &Name| {
        let (mut seen, mut to_see) = (BTreeSet::new(), next(from));
        while let Some(at) = to_see.pop() {
            if seen.insert(at.clone()) {
                to_see.extend(next(&at));
            }
        }
        seen
    };
    let reached: BTreeMap<&Name, BTreeSet<Name>> = files.keys().map(|at| (at, reached(at))).collect();
    let circle = |(at, to): (&&Name, &BTreeSet<Name>)| {
        to.iter().filter(|to| reached[*to].contains(*at)).cloned().collect::<BTreeSet<Name>>()
    };
    reached.iter().map(circle).collect()
}

/// The file that has this name, or to which another gives it on.
fn file_of(name: &[String], modules: &BTreeMap<&Name, Module>) -> Option<Name> {
    let length = (0..=name.len()).rev().find(|length| modules.contains_key(&name[..*length].to_vec()))?;
    let (file, rest) = name.split_at(length);
    let given = rest.first().and_then(|first| modules[&file.to_vec()].gives_on.get(first));
    given.map_or(Some(file.to_vec()), |given| file_of(&[given.as_slice(), &rest[1..]].concat(), modules))
}

/// What a file uses and gives on, its tests and comments left out.
fn read(at: &Name, text: &str, files: &BTreeMap<Name, &str>) -> Module {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut module = Module::default();
    for statement in code.join("\n").split(';') {
        let lines: Vec<&str> = statement.lines().map(str::trim).collect();
        let is_use = |line: &&str| USES.iter().any(|with| line.starts_with(with));
        let (before, import) = lines.split_at(lines.iter().position(is_use).unwrap_or(lines.len()));
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let words = before.iter().flat_map(|line| line.split(|c| !is_word(c)));
        let paths = words.map(|word| word.trim_matches(':')).filter(|word| word.contains("::"));
        module.uses.extend(paths.filter_map(|path| absolute(at, path, files)));
        let import = import.concat();
        let Some((visibility, tree)) = import.split_once("use ") else { continue };
        let mut all = Vec::new();
        expand("", tree, &mut all);
        for path in all {
            let (path, other) = path.split_once(" as ").map_or((path.as_str(), None), |(p, n)| (p, Some(n)));
            let Some(name) = absolute(at, path, files) else { continue };
            match name.last().filter(|_| !visibility.is_empty()) {
                Some(last) => {
                    let last = other.map_or(last.clone(), str::to_owned);
                    module.gives_on.insert(last, name);
                }
                None => module.uses.push(name),
            }
        }
    }
    module
}

/// The paths of `a::{b, c::{d, e}}`.
fn expand(before: &str, tree: &str, to: &mut Vec<String>) {
    let Some((head, inner)) = tree.split_once('{') else {
        return to.push(format!("{before}{}", tree.trim()));
    };
    let mut depth = 0;
    let parts = inner.trim_end_matches(['}', ',', ' ']).split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.for_each(|part| expand(&format!("{before}{}", head.trim()), part, to));
}

/// A path from the crate's root on; `None`: of another crate, or of the file's own.
fn absolute(at: &Name, path: &str, files: &BTreeMap<Name, &str>) -> Option<Name> {
    let mut segments = path.split("::").peekable();
    let mut name = at.clone();
    match *segments.peek()? {
        "crate" => name.clear(),
        "self" => {}
        "super" => {
            name.pop();
            segments.next();
            while segments.next_if_eq(&"super").is_some() {
                name.pop();
            }
            name.extend(segments.map(str::to_owned));
            return Some(name);
        }
        child => {
            name.push(child.to_owned());
            if !files.contains_key(&name) {
                return None;
            }
        }
    }
    name.extend(segments.skip(1).map(str::to_owned));
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six files, of which each uses the next in another way; the last uses `last`.
    fn ring(last: &str) -> Vec<String> {
        let files = [
            ("lib", "mod a;\npub use a::Of as Given;"),
            ("a", "use crate::{\n    b::{self, Other},\n    NoFile,\n};"),
            ("b", "fn f() -> Vec<crate::c::Of> {}"),
            ("c/mod", "pub mod inner;\nuse inner::Of;"),
            ("c/inner", "// use crate::a::Of;\nuse super::super::d::Other;"),
            (
                "d",
                "pub(crate) use crate::b::Of;\nuse super::e::*;\n#[cfg(test)]\nmod tests {\n    use crate::a::Of;",
            ),
            ("e", last),
        ];
        let file = |(name, text): (&str, &str)| (format!("crates/x/src/{name}.rs"), text.to_owned());
        let files: Vec<(String, String)> = files.into_iter().map(file).collect();
        too_large(&files.iter().map(|(file, text)| (file.as_str(), text.clone())).collect::<Vec<_>>())
    }

    #[test]
    fn a_circle_of_over_five_files_is_found_by_any_kind_of_import() {
        for last in ["use crate::a::Of;", "use crate::Given;", "impl crate::a::Trait for X {}"] {
            let found = ring(last);
            assert_eq!(found.len(), 1, "{last}");
            assert!(found[0].contains("6 files") && found[0].contains("a, b, c, c/inner, d, e"), "{found:?}");
        }
        for last in ["", "pub use crate::a::Of;", "use crate::b::Of;", "use other::a::Of;"] {
            assert_eq!(ring(last), Vec::<String>::new(), "{last}");
        }
    }
}
