//! Blocks as HTML that needs no script: headings, tables with captions and scopes, pictures with their words. Texts come
//! from outside: they are escaped, and nothing of them becomes a tag, an attribute or an address.

use crate::document::{Block, Item, SERVER};
use crate::page::shell::escape;
use crate::svg::{self, Plot};
use crate::terminal::{Align, Ink, Table};

/// Where the page about a server is, by a candidate's label; `None` where there is none.
pub(crate) type ServerLink<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The way to the site's root: empty, or `../`.
    pub(crate) root: &'static str,
}

/// A page around its body. It loads its site's style and script, which only sorts and filters.
pub(crate) fn page(head: &Head<'_>, body: &str) -> String {
    let (title, description, root) = (escape(head.title), escape(head.description), head.root);
    let version = escape(&prony_model::Tool::this().version);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'; script-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"prony {version}\">\n<meta name=\"description\" content=\"{description}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title} · Prony</title>\n\
         <link rel=\"stylesheet\" href=\"{root}style.css\">\n<script src=\"{root}site.js\" defer></script>\n</head>\n\
         <body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n\
         <nav aria-label=\"Site\"><a href=\"{root}index.html\">All runs</a> \
         <a href=\"{root}index.html#experiments\">Experiments</a> <a href=\"{root}index.html#servers\">Servers</a></nav>\n\
         <main id=\"main\">\n{body}</main>\n\
         <footer><p>Made by <code>prony publish</code>, version {version}.</p></footer>\n</body>\n</html>\n"
    )
}

/// A link within the site; `href` is made of names that need no escape.
pub(crate) fn link(href: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(href), escape(text))
}

pub(crate) fn blocks(blocks: &[Block], server: ServerLink<'_>) -> String {
    let (mut out, mut caption, mut in_list) = (String::new(), String::new(), false);
    for block in blocks {
        let is_item = matches!(block, Block::Item(_));
        if is_item != in_list {
            out.push_str(if is_item { "<ul>\n" } else { "</ul>\n" });
        }
        in_list = is_item;
        match block {
            Block::Gap => {}
            Block::Title(title) => {
                caption.clone_from(title);
                out.push_str(&element("h1", "", title));
            }
            Block::Section(title) => {
                caption.clone_from(title);
                out.push_str(&element("h2", "", title));
            }
            Block::Part(title, ink) => {
                caption.clone_from(title);
                out.push_str(&element("h3", class(*ink), title));
            }
            Block::Answer(answer, rest) => {
                let rest = if rest.is_empty() { String::new() } else { format!(" – {}", escape(rest)) };
                out.push_str(&format!("<p class=\"answer\"><strong>{}</strong>{rest}</p>\n", escape(answer)));
            }
            Block::Lines(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
                out.push_str(&format!("<p>{}</p>\n", lines.join("<br/>")));
            }
            Block::Text(said, ink) => out.push_str(&element("p", class(*ink), said)),
            Block::Item(item) => out.push_str(&list_item(item)),
            Block::Table(rows) => out.push_str(&of_blocks(rows, &caption, server)),
            Block::Command(word, command) => {
                out.push_str(&format!(
                    "<p>{}:</p>\n<pre><code>{}</code></pre>\n",
                    escape(word),
                    escape(command)
                ));
            }
            Block::Plot(plot) => out.push_str(&figure(plot)),
        }
    }
    if in_list {
        out.push_str("</ul>\n");
    }
    out
}

fn element(name: &str, class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<{name}{class}>{}</{name}>\n", escape(text))
}

/// The class of an ink; where it is none, the words say all.
fn class(ink: Ink) -> &'static str {
    match ink {
        Ink::DIM => "dim",
        Ink::GOOD => "good",
        Ink::WARN => "warn",
        Ink::BAD => "bad",
        _ => "",
    }
}

fn list_item(item: &Item) -> String {
    let mark = if item.is_word() || matches!(item.lead, "" | "±") { "" } else { item.lead };
    let mark = if mark.is_empty() { String::new() } else { format!("{} ", escape(mark)) };
    let of = item.of.as_ref().map_or(String::new(), |of| format!("<strong>{}</strong>: ", escape(of)));
    let fix = item.fix.as_ref().map_or(String::new(), |fix| format!(" – <code>{}</code>", escape(fix)));
    let text = format!("{mark}{}{of}{}{fix}", escape(&item.kind()), escape(&item.text));
    match class(item.ink) {
        "" => format!("<li>{text}</li>\n"),
        class => format!("<li class=\"{class}\">{text}</li>\n"),
    }
}

fn of_blocks(table: &Table, caption: &str, server: ServerLink<'_>) -> String {
    let Some(((head, _), rows)) = table.rows.split_first() else { return String::new() };
    let row_head = head.iter().position(|name| name == SERVER).unwrap_or(0);
    let columns: Vec<(&str, Align)> =
        head.iter().zip(&table.columns).map(|(name, (align, _))| (name.as_str(), *align)).collect();
    let cells = |(row, ink): &(Vec<String>, Ink)| -> Vec<String> {
        let page = |at: usize, cell: &String| if head[at] == SERVER { server(cell) } else { None };
        let cell = |(at, cell): (usize, &String)| match page(at, cell) {
            Some(href) => link(&href, cell),
            None if at + 1 == row.len() && !class(*ink).is_empty() => {
                format!("<span class=\"{}\">{}</span>", class(*ink), escape(cell))
            }
            None => escape(cell),
        };
        row.iter().enumerate().map(cell).collect()
    };
    self::table(caption, &columns, row_head, rows.iter().map(cells))
}

/// A table of cells that are HTML; `row_head` is the column that says what a row is about.
pub(crate) fn table(
    caption: &str,
    columns: &[(&str, Align)],
    row_head: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let caption = escape(caption);
    let align = |at: usize| match columns.get(at) {
        Some((_, Align::Right)) => " class=\"n\"",
        _ => "",
    };
    let mut out = format!(
        "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>\n\
         <caption>{caption}</caption>\n<thead><tr>"
    );
    for (at, (name, _)) in columns.iter().enumerate() {
        // Columns of figures' names and of verdicts have no head where people see what they are.
        let unnamed = if at == row_head { "figure" } else { "verdict" };
        let name = match name.is_empty() {
            true => format!("<span class=\"hidden\">{unnamed}</span>"),
            false => escape(name),
        };
        out.push_str(&format!("<th scope=\"col\"{}>{name}</th>", align(at)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            match at == row_head {
                true => out.push_str(&format!("<th scope=\"row\"{}>{cell}</th>", align(at))),
                false => out.push_str(&format!("<td{}>{cell}</td>", align(at))),
            }
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody>\n</table></div>\n"
}

pub(crate) fn figure(plot: &Plot) -> String {
    format!("<figure>{}<figcaption>{}</figcaption></figure>\n", svg::inline(plot), escape(&plot.title))
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
