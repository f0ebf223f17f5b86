//! The requests of a list, as a table of a page.

use prony_record::trial::Trial;

use super::svg::escape;
use crate::format;
use crate::words;

/// Requests of a trial in a table at most; a page with more of them is no longer read.
const ROWS_MAX: usize = 200;

/// A table of each trial that has a list, the slowest request first.
pub(super) fn tables(trials: &[(String, Trial)]) -> String {
    trials.iter().map(|(name, trial)| table(name, trial)).collect()
}

fn table(name: &str, trial: &Trial) -> String {
    let all = words::slowest_first(trial);
    if all.is_empty() {
        return String::new();
    }
    let fields = ["p50_ns", "p90_ns", "p99_ns"];
    let mut heads = vec!["Request".to_owned()];
    heads.extend(fields.map(|f| format!("{}<small>ms</small>", words::percentile(f))));
    heads.extend(["Mean<small>ms</small>", "Answered", "Failed"].map(str::to_owned));
    let head: String = heads.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    let mut body = String::new();
    for target in all.iter().take(ROWS_MAX) {
        let summary = words::headline_of(trial, target);
        let request = escape(&format::printable(&target.request));
        body.push_str(&format!("<tr><th scope=\"row\" data-sort=\"{request}\">{request}</th>"));
        let mut cell = |sort: Option<u64>, text: &str| {
            let sort = sort.map(|v| format!(" data-sort=\"{v}\"")).unwrap_or_default();
            body.push_str(&format!("<td class=\"num\"{sort}>{}</td>", escape(text)));
        };
        for field in fields {
            let sort = summary.percentile(field).or(summary.censored_at_ns.get(field).copied());
            cell(sort, &words::percentile_cell(summary, field));
        }
        cell(summary.mean_ns, &words::mean_cell(summary));
        cell(Some(target.completed), &format::thousands(target.completed));
        cell(Some(target.failed), &format::thousands(target.failed));
        body.push_str("</tr>\n");
    }
    let more = match all.len().saturating_sub(ROWS_MAX) as u64 {
        0 => String::new(),
        more => format!("; {}, on average no slower", format::count(more, "more request", "more requests")),
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Requests\"><table class=\"sortable\">\
         <caption>Requests of {}, the slowest first{more}</caption>\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n",
        escape(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_list_has_a_row_a_request_and_what_it_holds_is_only_shown() {
        let mut t = fixtures::listed();
        t.targets[0].request = "GET /<script>\"&\u{202e}".to_owned();
        let shown = tables(&[("a<b".to_owned(), t), ("none".to_owned(), fixtures::closed())]);
        assert_eq!((shown.matches("<tr><th scope=\"row\"").count(), shown.matches("<table").count()), (8, 1));
        assert!(shown.contains("GET /&lt;script&gt;") && !shown.contains("<script"), "{shown}");
        assert!(shown.contains("Requests of a&lt;b") && !shown.contains('\u{202e}'), "{shown}");
        // The slowest is the last of the fixture's.
        assert!(shown.find("GET /7").unwrap() < shown.find("GET /6").unwrap());
    }

    #[test]
    fn a_long_list_says_how_many_more() {
        let mut t = fixtures::listed();
        let one = t.targets[0].clone();
        t.targets = vec![one; ROWS_MAX + 3];
        assert!(tables(&[("a".to_owned(), t)]).contains("3 more requests"));
    }
}
