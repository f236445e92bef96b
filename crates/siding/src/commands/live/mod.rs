//! `siding switch`.

mod interim;
mod p4runtime;
mod packets;
mod shared_memory;
mod state;
mod thrift;

use super::compiler::Compiler;
use crate::cli::{
    Address, AsyncModeArg, AsyncOrderArg, LiveArgs, LiveBackendArg, LogLevel, SwitchArgs, WaitModeArg,
};
use crate::output::{self, Exit};
use crate::program::{Simulation, check_port, load, read_entries, write_entries};
use clap::ArgMatches;
use console::Loaded;
use ctl::{Server, ServerError, check_unused, claim_default_path, claim_thrift_path, totals_to_json};
use dataplane::{
    Compiled, Counter, MetricsServer, Options, PortKind, PortSpec, Report, ShutdownError, StartError, Switch,
    SwitchError, Wait, Warning,
};
use interim::{Interim, OpenPort};
use native::{AsyncMode, BurstPath};
use packet_io::LinkState;
use packets::PacketLog;
use serde_json::{Value as Json, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use state::State;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::BlockByBlock;

/// A process that a signal has ended has this exit code plus the signal's number, as in a shell.
const SIGNAL_CODE_BASE: i32 = 128;
/// Compilers recurse over what people write.
const STACK_BYTES: usize = 256 << 20;
/// How often the end is looked for.
const LOOK: Duration = Duration::from_millis(50);

pub fn run(args: &LiveArgs, matches: &ArgMatches) -> Exit {
    match start(args, matches) {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

/// SIGINT and SIGTERM: until [`end_in_order`](Signals::end_in_order) the first one ends the process at once, and with it
/// a C compiler that runs. After that the first one asks for an orderly end, and the second one ends the process.
struct Signals {
    is_end_wanted: Arc<AtomicBool>,
    ends_at_once: Arc<AtomicBool>,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let (is_end_wanted, ends_at_once) = (Arc::default(), Arc::new(AtomicBool::new(true)));
        for signal in [SIGINT, SIGTERM] {
            // Actions run in this order: the first signal does not see the flag that it sets.
            let code = SIGNAL_CODE_BASE + signal;
            flag::register_conditional_shutdown(signal, code, Arc::clone(&ends_at_once))?;
            flag::register(signal, Arc::clone(&ends_at_once))?;
            flag::register(signal, Arc::clone(&is_end_wanted))?;
        }
        Ok(Signals { is_end_wanted, ends_at_once })
    }

    fn end_in_order(&self) {
        self.ends_at_once.store(false, Ordering::Release);
    }

    fn is_end_wanted(&self) -> bool {
        self.is_end_wanted.load(Ordering::Acquire)
    }
}

/// Reports events to the console and to a log file.
struct Log<'a> {
    args: &'a LiveArgs,
    file: Option<File>,
}

impl<'a> Log<'a> {
    fn new(args: &'a LiveArgs) -> Result<Log<'a>, Exit> {
        let inputs = args.program.iter().chain(&args.entries);
        inputs.for_each(|path| output::note_input(path));
        let open = |path: &PathBuf| {
            output::refuse_input(path)?;
            File::options().create(true).append(true).open(path)
        };
        let file = args.log_file.as_ref().map(|path| open(path).map_err(|error| (path, error)));
        let file = file
            .transpose()
            .map_err(|(path, error)| environment(format!("cannot write {}: {error}", path.display())))?;
        Ok(Log { args, file })
    }

    /// Logs an event: `text` for people, or `fields` with the event's name as JSON.
    fn say(&mut self, level: LogLevel, event: &str, text: &str, mut fields: Json) {
        if level < self.args.log_level {
            return;
        }
        fields["event"] = event.into();
        let line = if self.args.json { format!("{fields}\n") } else { format!("{text}\n") };
        if self.args.json || self.args.log_console {
            output::out(&line);
        } else {
            output::err(&line);
        }
        if let Some(Err(error)) = self.file.as_mut().map(|file| file.write_all(line.as_bytes())) {
            self.file = None;
            output::warning_line(&format!("the log file cannot be written any more: {error}"));
        }
    }
}

fn environment(message: String) -> Exit {
    output::error_line(&message);
    Exit::Environment
}

fn start(args: &LiveArgs, matches: &ArgMatches) -> Result<(), Exit> {
    for (flag, why) in args.compat.without_effect() {
        output::err(&format!("note: {flag} has no effect: {why}\n"));
    }
    check(args)?;
    state::check(args)?;
    let listening = p4runtime::Listening::new(args).map_err(environment)?;
    let state_file = state::lock(args)?;
    let entries = state::initial_entries(args);
    let mut log = Log::new(args)?;
    let signals = Signals::new().map_err(|error| environment(format!("cannot wait for signals: {error}")))?;
    let (mut opened, mut interim, mut socket) = (None, None, None);
    let compiler = Compiler::new(args, matches)?;
    let compiled = match &args.program {
        Some(program) => {
            let loaded = load(program, &args.front_end, matches)?;
            for spec in &args.ports {
                check_port(&loaded.runnable.program, spec.number, "-i")?;
            }
            if let Some(port) = args.cpu_port {
                check_port(&loaded.runnable.program, port, "--cpu-port")?;
            }
            // Another switch may use the socket.
            socket = Some(claim_socket(args)?);
            // Interfaces that are not there, and missing permissions, are told before anything is compiled.
            opened = match args.use_files {
                None => Some(open_early(args)?),
                Some(_) => None,
            };
            let text = format!("compiling {} ...", program.display());
            log.say(LogLevel::Info, "compiling", &text, json!({ "program": program }));
            let compile = || compiler.finish(&loaded.runnable, &loaded.sources, program);
            match opened {
                // Externs of others may take long, which the interpreter would wait for.
                Some(ports) if args.backend == LiveBackendArg::Auto && args.externs.libraries.is_empty() => {
                    let (made, served) =
                        compile_and_serve(args, &mut log, &loaded, &entries, ports, &compile)?;
                    (opened, interim) = (None, Some(served));
                    Some(made)
                }
                ports => {
                    opened = ports;
                    Some(compile()?)
                }
            }
        }
        None => None,
    };
    signals.end_in_order();
    let options = Options {
        n_workers: usize::from(args.workers),
        cores: args.cores.clone(),
        queues: args.queues,
        wait: match args.wait {
            WaitModeArg::Busy => Wait::Busy,
            WaitModeArg::Adaptive => Wait::Adaptive,
            WaitModeArg::Interrupt => Wait::Interrupt,
        },
        cpu_port: args.cpu_port,
        host_ports: args.host_ports.iter().copied().collect(),
        drop_port: Some(args.drop_port),
        seed: args.seed,
        burst_path: BurstPath::from_environment(),
        async_mode: args.async_mode.map(|mode| match mode {
            AsyncModeArg::Inline => AsyncMode::Inline,
            AsyncModeArg::Wait => AsyncMode::Wait,
            AsyncModeArg::Suspend => AsyncMode::Suspend,
            AsyncModeArg::Auto => AsyncMode::Auto,
        }),
        n_offload_workers: args.offload_workers.map(usize::from),
        offload_cores: args.offload_cores.clone(),
        offload_batch: args.offload_batch,
        async_order: args.async_order.map(|order| order == AsyncOrderArg::Flow),
        hang_timeout: Duration::from_secs_f64(args.hang_timeout),
        shutdown_timeout: Duration::from_secs_f64(args.shutdown_timeout),
        ..Options::default()
    };
    let switch = Switch::start(options).map_err(|error| match error {
        StartError::Core(_) | StartError::NoWorker => {
            output::error_line(&error.to_string());
            Exit::Usage
        }
        StartError::Thread(_) => environment(error.to_string()),
    })?;
    if let Some(compiled) = compiled {
        switch.replace(compiled).map_err(|error| refused(&error))?;
        match &mut interim {
            None => {
                for path in &entries {
                    switch
                        .with_target(|schema, target| {
                            let entries = read_entries(schema, path, None)?;
                            write_entries(schema, target, &entries)
                        })
                        .map_err(|error| refused(&error))??;
                }
            }
            Some(interim) => switch
                .with_target(|schema, target| interim.hand_over(schema, target))
                .map_err(|error| refused(&error))?
                .map_err(|fault| {
                    output::error_line(&format!(
                        "compiled code does not take over what the interpreter has: {fault}"
                    ));
                    Exit::Bug
                })?,
        }
    }
    let mut kept = State::new(args, state_file, &switch);
    let socket = socket.map_or_else(|| claim_socket(args), Ok)?;
    let compiler = Arc::new(compiler);
    let server = Server::start(&socket, &switch, Arc::clone(&compiler) as Arc<dyn ctl::Compiler>);
    let server = server.map_err(|error| environment(error.to_string()))?;
    let controllers = listening.start(&switch, &compiler).map_err(environment)?;
    let shm = controllers.as_ref().and_then(|server| shared_memory::start(&args.shm, server).transpose());
    let shm = shm.transpose().map_err(environment)?;
    let thrift = args.thrift_port.map(thrift::Stub::start).transpose().map_err(environment)?;
    let metrics = match args.metrics_addr {
        Address::Off => None,
        Address::At(address) => {
            match MetricsServer::start(address, &switch, counters(controllers.as_ref())) {
                Ok(server) => Some(server),
                Err(error) => {
                    output::warning_line(&format!(
                        "no metrics on {address}: {error}; --metrics-addr names another address, or `off`"
                    ));
                    None
                }
            }
        }
    };
    let is_over = || signals.is_end_wanted() || server.is_shutdown_wanted();
    if let Some(interim) = interim {
        tell_take_over(&mut log, &interim);
        switch.add_past(interim.totals()).map_err(|error| refused(&error))?;
        opened = Some(interim.into_ports());
    }
    if open_ports(args, &switch, opened, &is_over)? {
        ready(args, &mut log, server.path(), metrics.as_ref(), (controllers.as_ref(), shm.as_ref()));
    }
    let logged = PacketLog::start(args, &switch);
    while !is_over() {
        std::thread::sleep(LOOK);
        tell_warnings(&mut log, &switch);
        logged.iter().for_each(|logged| logged.say(&mut log));
        kept.keep_sometimes(&switch);
    }
    logged.into_iter().for_each(|logged| logged.end(&mut log));
    // Sessions in shared memory are controllers.
    drop(shm);
    drop((server, metrics, controllers, thrift));
    let kept = kept.keep_last(&switch);
    finish(&mut log, &switch).and(kept)
}

/// Counters of controllers, for metrics.
fn counters(controllers: Option<&grpc::Server>) -> impl Fn() -> Vec<Counter> + Send + Sync + 'static {
    let service = controllers.map(grpc::Server::local);
    move || {
        let Some(service) = &service else { return Vec::new() };
        let grpc::UpdateCounts { n_short, n_full, n_columns, n_records } = service.n_updates();
        vec![
            Counter {
                name: "siding_p4runtime_updates",
                help: "Updates of controllers, refused ones among them, by the way on which they came.",
                label: "way",
                samples: vec![
                    ("short", n_short),
                    ("full", n_full),
                    ("columns", n_columns),
                    ("shared_memory", n_records),
                ],
            },
            Counter {
                name: "siding_p4runtime_lost_messages",
                help: "Packets, digests and idle notices that no controller got.",
                label: "",
                samples: vec![("", service.n_lost())],
            },
        ]
    }
}

/// The path of the control socket, on which no other switch listens.
fn claim_socket(args: &LiveArgs) -> Result<PathBuf, Exit> {
    let socket_error = |error: ServerError| environment(error.to_string());
    let path = match &args.ctl_socket {
        Some(path) => path.clone(),
        None => match args.thrift_port {
            Some(port) => claim_thrift_path(port),
            None => claim_default_path(args.device_id),
        }
        .map_err(socket_error)?,
    };
    check_unused(&path).map_err(socket_error)?;
    Ok(path)
}

/// Refuses arguments that contradict each other, before any work is done.
fn check(args: &LiveArgs) -> Result<(), Exit> {
    let mut numbers: Vec<u32> = args.ports.iter().map(|spec| spec.number).collect();
    numbers.sort_unstable();
    if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        output::error_line(&format!("port {} is there twice", twice[0]));
        return Err(Exit::Usage);
    }
    for (i, spec) in args.ports.iter().enumerate() {
        if let Some(other) = args.ports[..i].iter().find(|other| other.kind.is_same_device(&spec.kind)) {
            output::error_line(&format!(
                "{} is there twice, as port {} and {}",
                spec.kind, other.number, spec.number
            ));
            return Err(Exit::Usage);
        }
    }
    if let Some(cpu_port) = args.cpu_port.filter(|port| numbers.contains(port)) {
        output::error_line(&format!("port {cpu_port} cannot be an interface and --cpu-port"));
        return Err(Exit::Usage);
    }
    if args.cpu_port == Some(args.drop_port) {
        output::error_line(&format!("port {} cannot be --cpu-port and the drop port", args.drop_port));
        return Err(Exit::Usage);
    }
    for cores in [&args.cores, &args.offload_cores] {
        packet_io::check_cores(cores).map_err(|error| {
            output::error_line(&error.to_string());
            Exit::Usage
        })?;
    }
    if args.program.is_none() && !args.entries.is_empty() {
        output::error_line("--entries needs a program");
        return Err(Exit::Usage);
    }
    if let Some(dir) = &args.pcap {
        std::fs::create_dir_all(dir)
            .map_err(|error| environment(format!("cannot make {}: {error}", dir.display())))?;
    }
    Ok(())
}

/// Opens all ports.
fn open_early(args: &LiveArgs) -> Result<Vec<OpenPort>, Exit> {
    let open = |spec: &PortSpec| {
        let n_queues = args.queues.n_of(&spec.kind, usize::from(args.workers));
        match spec.open_queues(n_queues, args.pcap.as_deref()) {
            Ok(queues) => {
                if let Some(reason) = queues.first().and_then(|queue| queue.fallback()) {
                    output::warning_line(&format!("port {} goes through AF_PACKET: {reason}", spec.number));
                }
                Ok((spec.clone(), queues))
            }
            Err(error) => Err(environment(error.to_string())),
        }
    };
    args.ports.iter().map(open).collect()
}

/// Compiles in a thread of its own while the interpreter, which begins with the entries of the files, serves the ports.
fn compile_and_serve(
    args: &LiveArgs,
    log: &mut Log<'_>,
    loaded: &Loaded,
    files: &[PathBuf],
    ports: Vec<OpenPort>,
    compile: &(dyn Fn() -> Result<Compiled, Exit> + Sync),
) -> Result<(Compiled, Interim), Exit> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, compile);
        let thread = thread.map_err(|error| environment(format!("cannot start a thread: {error}")))?;
        let switch = SwitchArgs {
            entries: Vec::new(),
            seed: args.seed,
            cpu_port: args.cpu_port,
            host_ports: args.host_ports.clone(),
        };
        let Simulation { mut interpreter, schema, .. } = Simulation::of(loaded.clone(), &switch)?;
        for path in files {
            let entries = read_entries(&schema, path, None)?;
            write_entries(&schema, &mut interpreter, &entries)?;
        }
        let mut interim = Interim::new(Box::new(BlockByBlock::new(interpreter)), ports);
        let text = "the interpreter serves meanwhile";
        log.say(LogLevel::Info, "serving", text, json!({ "backend": "interp" }));
        interim.serve(&|| thread.is_finished()).map_err(|error| environment(error.to_string()))?;
        let compiled = thread.join().map_err(|_| Exit::Bug)??;
        Ok((compiled, interim))
    })
}

fn tell_take_over(log: &mut Log<'_>, interim: &Interim) {
    let totals = interim.totals();
    let n_dropped: u64 = totals.n_dropped.values().sum();
    let text = format!(
        "compiled code takes over; the interpreter received {}, sent {}, dropped {n_dropped}",
        totals.n_received, totals.n_sent
    );
    let fields = json!({ "received": totals.n_received, "sent": totals.n_sent, "dropped": n_dropped });
    log.say(LogLevel::Info, "take_over", &text, fields);
}

/// False if the switch is to end before it is ready.
fn open_ports(
    args: &LiveArgs,
    switch: &Switch,
    opened: Option<Vec<OpenPort>>,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, Exit> {
    let (begin, delay) = (Instant::now(), Duration::from_secs(args.use_files.unwrap_or(0)));
    while begin.elapsed() < delay && !is_over() {
        std::thread::sleep(LOOK);
    }
    if is_over() {
        return Ok(false);
    }
    // A packet may leave by a port that is not open yet.
    switch.pause().map_err(|error| refused(&error))?;
    if let Some(ports) = opened {
        for (spec, queues) in ports {
            switch.add_opened(&spec, queues).map_err(|error| refused(&error))?;
        }
        switch.resume().map_err(|error| refused(&error))?;
        return Ok(true);
    }
    for spec in &args.ports {
        let spec = match (&spec.kind, args.use_files) {
            (PortKind::Interface(name), Some(_)) => {
                PortSpec { number: spec.number, kind: PortKind::File(name.into()) }
            }
            _ => spec.clone(),
        };
        switch.add_port(&spec, args.pcap.as_deref()).map_err(|error| refused(&error))?;
    }
    switch.resume().map_err(|error| refused(&error))?;
    Ok(true)
}

fn ready(
    args: &LiveArgs,
    log: &mut Log<'_>,
    socket: &Path,
    metrics: Option<&MetricsServer>,
    (controllers, shm): (Option<&grpc::Server>, Option<&shm::Server>),
) {
    let program = args.program.as_ref().map_or_else(
        || "no program; bring one with `siding ctl replace PROGRAM`".to_owned(),
        |program| program.display().to_string(),
    );
    let metrics = metrics.map(|metrics| format!("http://{}/metrics", metrics.address()));
    let n_ports = args.ports.len();
    let mut text = format!("ready: {program}, {n_ports} {}", if n_ports == 1 { "port" } else { "ports" });
    if args.ports.is_empty() {
        text.push_str("; `siding ctl port add N@INTERFACE` adds one");
    }
    text.push_str(&format!("\n  control: {}", socket.display()));
    if let Some(metrics) = &metrics {
        text.push_str(&format!("\n  metrics: {metrics}"));
    }
    let p4runtime = controllers.map(|server| server.address().to_string());
    if let Some(address) = &p4runtime {
        text.push_str(&format!("\n  P4Runtime: {address}"));
    }
    let shm = shm.map(|server| server.path());
    if let Some(path) = shm {
        text.push_str(&format!("\n  shared memory: {}", path.display()));
    }
    let fields = json!({
        "program": args.program, "ports": args.ports.len(), "device_id": args.device_id,
        "ctl_socket": socket, "metrics": metrics, "p4runtime": p4runtime, "shm_socket": shm,
    });
    // Scripts wait for it, so no level hides it.
    log.say(LogLevel::Off, "ready", &text, fields);
}

/// Warnings go to standard error, and into the log.
fn tell_warnings(log: &mut Log<'_>, switch: &Switch) {
    for warning in switch.take_warnings() {
        let (level, event, fields) = match &warning {
            Warning::CaptureEnded { port, error } => {
                (LogLevel::Warn, "capture_ended", json!({ "port": port, "error": error }))
            }
            Warning::LinkChanged { port, name, link, reason } => {
                let (level, link) = match link {
                    LinkState::Up => (LogLevel::Info, "up"),
                    LinkState::Down => (LogLevel::Warn, "down"),
                    LinkState::Gone => (LogLevel::Warn, "gone"),
                };
                (level, "link", json!({ "port": port, "name": name, "link": link, "reason": reason }))
            }
        };
        let text = if level == LogLevel::Warn { format!("warning: {warning}") } else { warning.to_string() };
        log.say(level, event, &text, fields);
    }
}

/// Ends the switch and prints the last counts, which add up.
fn finish(log: &mut Log<'_>, switch: &Switch) -> Result<(), Exit> {
    let ended = switch.shut_down();
    tell_warnings(log, switch);
    let report = match ended {
        Ok(report) => report,
        Err(ShutdownError::Stuck { workers, timeout, report }) => {
            print_totals(log, &report);
            output::error_line(&ShutdownError::Stuck { workers, timeout, report }.to_string());
            // Nothing is waited for any more: what the switch has may be in use by the worker that hangs.
            std::process::exit(Exit::Failed.code().into());
        }
        Err(error @ ShutdownError::Ended) => {
            output::error_line(&error.to_string());
            return Err(Exit::Bug);
        }
    };
    print_totals(log, &report);
    if report.is_balanced() {
        return Ok(());
    }
    output::error_line("internal bug: these counts do not add up");
    Err(Exit::Bug)
}

fn print_totals(log: &mut Log<'_>, report: &Report) {
    let mut text = format!("{:>12}  received", report.n_received);
    let mut line = |what: &str, n: u64| {
        if n > 0 {
            text.push_str(&format!("\n{n:>12}  {what}"));
        }
    };
    line("copies made", report.n_copied);
    line("sent", report.n_sent);
    line("to the controller", report.n_to_controller);
    for (reason, n) in &report.n_dropped {
        line(&format!("dropped: {reason}"), *n);
    }
    for (what, n) in &report.n_ignored {
        line(&format!("ignored: {what}"), *n);
    }
    line("still waiting", report.n_queued);
    for (reason, n) in &report.n_rx_lost {
        line(&format!("lost at ports, not received: {reason}"), *n);
    }
    let fields = json!({ "totals": totals_to_json(report) });
    log.say(LogLevel::Off, "end", &text, fields);
}

fn refused(error: &SwitchError) -> Exit {
    output::error_line(&error.to_string());
    match error {
        SwitchError::Port(_) => Exit::Environment,
        SwitchError::PortExists(_)
        | SwitchError::NoSuchPort(_)
        | SwitchError::DeviceInUse { .. }
        | SwitchError::CpuPort(_)
        | SwitchError::BadPort { .. }
        | SwitchError::NoCpuPort => Exit::Usage,
        SwitchError::Program(_) | SwitchError::NoRoom => Exit::Environment,
        SwitchError::NoProgram | SwitchError::Ended | SwitchError::Stuck(_) => Exit::Bug,
    }
}
