//! `siding explain`.

use crate::cli::ExplainArgs;
use crate::output::{self, Exit};
use diagnostics::suggest::nearest_word;
use siding::{codes, explain};

pub fn run(args: &ExplainArgs) -> Exit {
    let Some(wanted) = &args.code else {
        for code in codes::all() {
            let severity = code.default_severity.name();
            output::out(&format!("{}  {severity:7}  {:32}  {}\n", code.id, code.name, code.summary));
        }
        output::out("\nReasons of dropped packets:\n");
        for reason in explain::drop_reasons() {
            let meaning = explain::drop_reason(reason).map(explain::first_sentence).unwrap_or_default();
            output::out(&format!("{reason:32}  {meaning}\n"));
        }
        return Exit::Ok;
    };
    if let Some(section) = explain::drop_reason(wanted) {
        output::out(&format!("# {section}\n"));
        return Exit::Ok;
    }
    let code = codes::find(wanted);
    match (code, explain::page(code.map_or(wanted, |c| c.id))) {
        (_, Some(page)) => {
            output::out(page.text);
            Exit::Ok
        }
        (Some(code), None) => {
            output::out(&format!("# {}: {}\n\nThere is no page for this code yet.\n", code.id, code.summary));
            Exit::Ok
        }
        (None, None) => {
            let all = codes::all();
            let words = all.iter().flat_map(|c| [c.id, c.name]).chain(explain::drop_reasons());
            let nearest =
                nearest_word(wanted, words).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            output::error_line(&format!("no code or name is `{wanted}`{nearest}"));
            output::err("`siding explain` lists all codes and drop reasons\n");
            Exit::Usage
        }
    }
}
