//! `siding model formula`: the published formula for an exact table with the parameters of this machine.

use super::read_profile;
use crate::args::ModelFormulaArgs;
use crate::chart::{Chart, Origin, Series};
use crate::{harness, report};
use console::output::{self, Exit};
use model::cpu::formula::{Curve, Formula};
use serde_json::json;

pub fn formula(args: &ModelFormulaArgs) -> Exit {
    shown(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn shown(args: &ModelFormulaArgs) -> Result<(), Exit> {
    let profile = read_profile(&args.profile)?;
    let curve = &profile.curve;
    let found = curve.fit().map_err(|sentence| {
        output::error_line(&format!("{}: {sentence}", args.profile.display()));
        Exit::Usage
    })?;
    if let Some(path) = &args.svg {
        harness::draw(path, &chart(&profile.machine.model, curve, &found))?;
    }
    output::out(&match args.json {
        true => format!(
            "{}\n",
            json!({ "version": 1, "machine": profile.machine.model, "curve": curve, "formula": found })
        ),
        false => text(&profile.machine.model, curve, &found),
    });
    Ok(())
}

fn text(machine: &str, curve: &Curve, found: &Formula) -> String {
    let mut text = format!(
        "Exact table, one core of {machine}: k = {} bytes, a = {} bytes\n\n\
         R(n) = 128 + {} n bytes\n\
         C(n) = {:.3} ln(n) + {:.2}              R(n) <= {:.0} bytes (n <= {:.0})\n\
         C(n) = {:.4e} / ({} n + {}) + {:.2}    otherwise\n\n\
         residuals {:.1} % of the cycles; q = 1, for q only shifts r\n\n",
        curve.key_bytes,
        curve.data_bytes,
        found.t,
        found.p,
        found.r,
        found.cache_bytes,
        found.n_in_cache,
        found.s,
        found.t,
        found.u,
        found.v,
        100.0 * found.rmse_relative,
    );
    let mut rows = vec![["entries", "bytes", "measured", "formula"].map(str::to_owned).to_vec()];
    rows.extend(curve.points.iter().map(|(n, cycles)| {
        vec![
            report::short(*n as u64),
            format!("{:.0}", curve.bytes(*n)),
            format!("{cycles:.1}"),
            format!("{:.1}", found.cycles(*n)),
        ]
    }));
    text += &report::aligned(&rows);
    text
}

fn chart(machine: &str, curve: &Curve, found: &Formula) -> Chart {
    let of_formula = |is_wanted: &dyn Fn(f64) -> bool| {
        curve.points.iter().map(|(n, _)| (*n, found.cycles(*n))).filter(|(n, _)| is_wanted(*n)).collect()
    };
    let series =
        |name: &str, points: Vec<(f64, f64)>, origin| Series { name: name.to_owned(), points, origin };
    Chart {
        title: format!("Exact table on one core, {machine}"),
        x: "entries".to_owned(),
        y: "TSC cycles a packet".to_owned(),
        series: vec![
            series("measured", curve.points.clone(), Origin::Ours),
            series("p ln(n) + r", of_formula(&|n| n <= found.n_in_cache), Origin::Published),
            series("s / (t n + u) + v", of_formula(&|n| n > found.n_in_cache), Origin::Published),
        ],
        notes: vec![format!(
            "p = {:.3}, r = {:.2}, s = {:.3e}, t = {}, u = {}, v = {:.2}",
            found.p, found.r, found.s, found.t, found.u, found.v
        )],
        ..Chart::default()
    }
}
