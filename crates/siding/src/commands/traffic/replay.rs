//! `siding traffic replay`.

use super::ports::Ports;
use super::signals::Signals;
use super::watch::Watch;
use super::{loss, refuse, report, summary_json};
use crate::cli::TrafficReplayArgs;
use crate::output::{self, Exit};
use packet_io::Damage;
use traffic::{Pace, Receiver, Recording, Replay, ReplayOptions, Sender, Station, TrafficError, Trial};

pub fn run(args: &TrafficReplayArgs) -> Result<Exit, Exit> {
    let signals = Signals::new();
    if args.ports.tx.is_none() {
        output::error_line("name the port to send from: --tx INTERFACE");
        return Err(Exit::Usage);
    }
    output::note_input(&args.file);
    if let Some(file) = &args.write {
        output::refuse_input(file).map_err(|error| {
            output::error_line(&format!("cannot write {}: {error}", file.display()));
            Exit::Usage
        })?;
    }
    let mut ports = Ports::open(&args.ports, &signals)?;
    let names = ports.names();
    let trial = trial(args, &mut ports).map_err(|error| {
        let is_cut = |damage: &Damage| matches!(damage, Damage::Truncated { .. });
        let exit = refuse(&error);
        if matches!(&error, TrafficError::Read(error) if is_cut(&error.damage)) {
            output::err("  --skip-cut sends the packets before it\n");
        }
        exit
    })?;
    let watch =
        Watch { signals: &signals, names: &names, receiver: None, is_json: args.json, is_shown: true };
    let result = watch.run(trial).map_err(|error| refuse(&error))?;
    match args.json {
        true => output::out(&format!("{}\n", summary_json(&result))),
        false => output::out(&report::text(&result, &names)),
    }
    report::hints(&result, &names, &ports).iter().for_each(|hint| output::warning_line(hint));
    Ok(if args.fail_on_loss { loss(&result) } else { Exit::Ok })
}

fn trial<'p>(args: &TrafficReplayArgs, ports: &'p mut Ports) -> Result<Trial<'p>, TrafficError> {
    let is_one = ports.is_one();
    let mut cores = args.ports.cores.iter().copied();
    let has_rx = args.ports.rx.is_some();
    let recording = || {
        let recording = Recording::new(args.write.as_deref(), "received")?;
        Ok::<_, TrafficError>(Receiver::Recording(Box::new(recording)))
    };
    let options = ReplayOptions {
        pace: args.rate.map_or(Pace::Capture { speed: args.speed }, Pace::Rate),
        n_rounds: (args.rounds > 0).then_some(args.rounds),
        is_cut_skipped: args.skip_cut,
        burst_max: args.burst.into(),
    };
    let idle = args.ports.idle();
    let mut stations = Vec::new();
    let (tx, rx) = ports.both();
    if let Some(port) = tx {
        let replay = Replay::read(&args.file, options, port.frame_bytes_max())?;
        if replay.n_skipped() > 0 {
            output::warning_line(&format!(
                "{}: {} packets are left out, since they were cut",
                args.file.display(),
                replay.n_skipped()
            ));
        }
        let sender = Some(Sender::Replay(Box::new(replay)));
        let receiver = if is_one && has_rx { Some(recording()?) } else { None };
        stations.push(Station { port, sender, receiver, core: cores.next(), idle });
    }
    if let Some(port) = rx {
        stations.push(Station { port, sender: None, receiver: Some(recording()?), core: cores.next(), idle });
    }
    let mut trial = Trial::new(stations);
    trial.drain = args.drain;
    Ok(trial)
}
