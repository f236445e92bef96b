//! The two ends of a migration: switches and files.

use crate::cli::{EndArg, MigrateArgs};
use crate::output::{self, Exit};
use control::{Code, Schema};
use grpc::{Client, Next, ServerAddress, Stream};
use p4::stream_message_request::Update as ToServer;
use p4::stream_message_response::Update as FromServer;
use p4info::P4Info;
use p4info::proto::p4::config::v1::Table;
use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as pb;
use p4runtime::bulk::{FileError, FileReader, FileWriter};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of files that are read and written at once.
const BUFFER_BYTES: usize = 1 << 20;
/// Time for a switch to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// The end of a migration is noticed after so long by those who wait for news of the election.
const LOOK_TIME: Duration = Duration::from_millis(10);

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

fn environment(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Environment
}

fn connect(address: &ServerAddress) -> Result<Client, Exit> {
    Client::connect(address, None).map_err(environment)
}

fn config(
    client: &Client,
    address: &ServerAddress,
    device_id: u64,
) -> Result<p4::ForwardingPipelineConfig, Exit> {
    let parts = p4::get_forwarding_pipeline_config_request::ResponseType::P4infoAndCookie;
    let config = client.pipeline_config(device_id, parts).map_err(failed)?;
    let none = || failed(format!("the switch at {address} has no program"));
    config.filter(|config| config.p4info.is_some()).ok_or_else(none)
}

/// The end from which entries come.
pub struct Reader {
    source: Source,
    pub header: pb::FileHeader,
}

enum Source {
    /// A switch that runs the program with this number.
    Switch { client: Box<Client>, request: pb::ReadRequest, program: u64 },
    /// A file with the number of entries of each table, which nobody knows before a pipe has ended.
    File { file: Box<FileReader<BufReader<File>>>, path: PathBuf, counts: Option<Counts> },
}

/// Entries of each table, by its id.
type Counts = BTreeMap<u32, u64>;

fn count(counts: &mut Counts, chunk: &pb::Chunk) {
    for set in &chunk.sets {
        *counts.entry(set.table_id).or_default() += u64::from(set.n);
    }
    for entity in &chunk.entities {
        if let Some(p4::entity::Entity::TableEntry(entry)) = &entity.entity {
            *counts.entry(entry.table_id).or_default() += 1;
        }
    }
}

fn in_file(path: &Path, error: &FileError) -> Exit {
    failed(format!("{}: {error}", path.display()))
}

/// Fails if a chunk of a file does anything but bring entries.
fn check_ops(path: &Path, chunk: &pb::Chunk) -> Result<(), Exit> {
    let of_entities = (!chunk.entities.is_empty()).then_some(chunk.entities_op);
    let mut ops = chunk.sets.iter().map(|set| set.op).chain(of_entities);
    match ops.all(|op| op == pb::Op::Insert as i32 || op == pb::Op::Upsert as i32) {
        true => Ok(()),
        false => Err(failed(format!("{}: it has changes other than entries to insert", path.display()))),
    }
}

/// Reads a file to its end, so that nothing of a damaged one is written, and counts its entries. A pipe can be read once only.
fn check_file(path: &Path, file: &File) -> Result<Option<Counts>, Exit> {
    if !file.metadata().is_ok_and(|of| of.is_file()) {
        return Ok(None);
    }
    let mut counts = Counts::default();
    let mut from = file;
    let mut reader = FileReader::new(BufReader::with_capacity(BUFFER_BYTES, from));
    let mut check = || {
        let reader = reader.as_mut().map_err(|error| in_file(path, error))?;
        while let Some(chunk) = reader.chunk().map_err(|error| in_file(path, &error))? {
            check_ops(path, &chunk)?;
            count(&mut counts, &chunk);
        }
        Ok(())
    };
    check()?;
    from.rewind().map_err(|error| environment(format!("cannot read {}: {error}", path.display())))?;
    Ok(Some(counts))
}

impl Reader {
    pub fn open(args: &MigrateArgs) -> Result<Reader, Exit> {
        match &args.from {
            EndArg::File(path) => {
                let file = File::open(path)
                    .map_err(|error| environment(format!("cannot read {}: {error}", path.display())))?;
                let counts = check_file(path, &file)?;
                let file = FileReader::new(BufReader::with_capacity(BUFFER_BYTES, file));
                let file = file.map_err(|error| in_file(path, &error))?;
                if !args.tables.is_empty() {
                    output::error_line(
                        "--table needs a switch to read from: of a file all entries are taken",
                    );
                    return Err(Exit::Usage);
                }
                let header = file.header.clone();
                let source = Source::File { file: Box::new(file), path: path.clone(), counts };
                Ok(Reader { source, header })
            }
            EndArg::Switch(address) => {
                let client = connect(address)?;
                let config = config(&client, address, args.from_device_id)?;
                let program = client.bulk_layout(args.from_device_id).map_err(failed)?.program;
                let schema = Schema::new(&config.p4info.clone().unwrap_or_default()).map_err(failed)?;
                let ids = args.tables.iter().map(|name| Ok(schema.tables.find(name).map_err(failed)?.id.0));
                let mode = match &args.to {
                    EndArg::Switch(_) => pb::read_request::Mode::Follow,
                    EndArg::File(_) => pb::read_request::Mode::Snapshot,
                };
                let request = pb::ReadRequest {
                    device_id: args.from_device_id,
                    role: args.role.clone(),
                    table_ids: ids.collect::<Result<_, Exit>>()?,
                    mode: mode.into(),
                    with_counts: args.with_counts,
                    ..pb::ReadRequest::default()
                };
                let cookie = config.cookie.map_or(0, |cookie| cookie.cookie);
                let made_by = format!("siding {}", env!("CARGO_PKG_VERSION"));
                let header = pb::FileHeader { p4info: config.p4info, cookie, made_by };
                Ok(Reader { source: Source::Switch { client: Box::new(client), request, program }, header })
            }
        }
    }

    /// Fails if a switch is the one to read from. Two switches never run programs with the same number.
    fn check_other(&self, program: u64) -> Result<(), Exit> {
        match &self.source {
            Source::Switch { program: own, .. } if *own == program => {
                output::error_line(
                    "the two addresses are those of one switch: entries are copied to another one",
                );
                Err(Exit::Usage)
            }
            Source::Switch { .. } | Source::File { .. } => Ok(()),
        }
    }

    /// Fails if tables have more entries than they may have in the second switch.
    fn check_room(&self, tables: &[Table]) -> Result<(), Exit> {
        let counts = match &self.source {
            _ if tables.is_empty() => return Ok(()),
            Source::File { counts, .. } => counts.clone().unwrap_or_default(),
            Source::Switch { client, request, .. } => {
                let mut counts = Counts::default();
                let is_wanted = |id: &u32| request.table_ids.is_empty() || request.table_ids.contains(id);
                let table_ids: Vec<u32> = tables.iter().map(id_of).filter(is_wanted).collect();
                if !table_ids.is_empty() {
                    let mode = pb::read_request::Mode::Scan.into();
                    let request = pb::ReadRequest { table_ids, mode, with_counts: false, ..request.clone() };
                    let read = client.bulk_read(request, |chunk| {
                        count(&mut counts, &chunk);
                        true
                    });
                    read.map_err(failed)?;
                }
                counts
            }
        };
        for table in tables {
            let n = counts.get(&id_of(table)).copied().unwrap_or(0);
            if i64::try_from(n).is_ok_and(|n| n > table.size) {
                return Err(failed(format!(
                    "table `{}` has {n} entries, and that of the second switch has room for {}: nothing was copied",
                    name_of(table),
                    table.size
                )));
            }
        }
        Ok(())
    }

    /// Reads all chunks, until `take` returns false or fails.
    pub fn read(&mut self, take: &mut dyn FnMut(pb::Chunk) -> Result<bool, Exit>) -> Result<(), Exit> {
        match &mut self.source {
            Source::File { file, path, .. } => {
                while let Some(chunk) = file.chunk().map_err(|error| in_file(path, &error))? {
                    check_ops(path, &chunk)?;
                    if !take(chunk)? {
                        return Ok(());
                    }
                }
                Ok(())
            }
            Source::Switch { client, request, .. } => {
                let mut outcome = Ok(());
                let read = client.bulk_read(request.clone(), |chunk| match take(chunk) {
                    Ok(has_more) => has_more,
                    Err(exit) => {
                        outcome = Err(exit);
                        false
                    }
                });
                read.map_err(failed).and(outcome)
            }
        }
    }
}

/// The end to which entries go.
pub struct Writer {
    sink: Sink,
}

enum Sink {
    Switch { client: Box<Client>, head: Box<pb::Chunk> },
    File { file: FileWriter<BufWriter<tempfile::NamedTempFile>>, path: PathBuf },
}

fn id_of(table: &Table) -> u32 {
    table.preamble.as_ref().map_or(0, |preamble| preamble.id)
}

fn name_of(table: &Table) -> &str {
    table.preamble.as_ref().map_or("", |preamble| &preamble.name)
}

/// Fails if entries of one program mean something else in the other. Returns the tables that are smaller in the second one.
fn compare(from: &pb::FileHeader, to: &P4Info) -> Result<Vec<Table>, Exit> {
    let from = from.p4info.clone().unwrap_or_default();
    let of_any_size = |table: &Table| Table { size: 0, ..table.clone() };
    let is_same = |(one, other): (&Table, &Table)| of_any_size(one) == of_any_size(other);
    let has_same_tables =
        from.tables.len() == to.tables.len() && from.tables.iter().zip(&to.tables).all(is_same);
    if has_same_tables && from.actions == to.actions && from.action_profiles == to.action_profiles {
        let smaller = from.tables.iter().zip(&to.tables).filter(|(from, to)| to.size < from.size);
        return Ok(smaller.map(|(_, to)| to.clone()).collect());
    }
    let differs = from.tables.iter().find(|one| !to.tables.iter().any(|other| is_same((one, other))));
    let what =
        differs.map_or_else(|| "their actions".to_owned(), |table| format!("table `{}`", name_of(table)));
    Err(failed(format!("the two programs differ in {what}: entries of one do not fit the other")))
}

impl Writer {
    pub fn open(args: &MigrateArgs, reader: &Reader) -> Result<Writer, Exit> {
        match &args.to {
            EndArg::File(path) => {
                // A link stays, and what is no file, too.
                let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                if path.metadata().is_ok_and(|of| !of.is_file()) {
                    return Err(environment(format!(
                        "cannot write {}: it is no regular file",
                        path.display()
                    )));
                }
                let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
                let file = tempfile::NamedTempFile::new_in(dir.unwrap_or(Path::new(".")));
                let file = file.map_err(|error| cannot_write(path, &error))?;
                let file = FileWriter::new(BufWriter::with_capacity(BUFFER_BYTES, file), &reader.header);
                let file = file.map_err(|error| cannot_write(path, &error))?;
                Ok(Writer { sink: Sink::File { file, path: path.clone() } })
            }
            EndArg::Switch(address) => {
                let client = connect(address)?;
                let config = config(&client, address, args.to_device_id)?;
                let program = client.bulk_layout(args.to_device_id).map_err(failed)?.program;
                reader.check_other(program)?;
                let smaller = compare(&reader.header, &config.p4info.unwrap_or_default())?;
                reader.check_room(&smaller)?;
                let head = pb::Chunk {
                    device_id: args.to_device_id,
                    program,
                    role: args.role.clone(),
                    election_id: Some(p4::Uint128 { high: 0, low: args.election_id }),
                    report: pb::Report::Codes.into(),
                    ..pb::Chunk::default()
                };
                Ok(Writer { sink: Sink::Switch { client: Box::new(client), head: Box::new(head) } })
            }
        }
    }

    /// Writes all chunks, and hands over the answers. Sets `is_over` if another controller becomes primary of a switch.
    pub fn write(
        self,
        chunks: Receiver<pb::Chunk>,
        is_over: &AtomicBool,
        take: &mut dyn FnMut(pb::Done) -> Result<(), Exit>,
    ) -> Result<Written, Exit> {
        match self.sink {
            Sink::File { mut file, path } => {
                for chunk in chunks {
                    file.chunk(&chunk).map_err(|error| cannot_write(&path, &error))?;
                }
                Ok(Written { file: Some((file, path)) })
            }
            Sink::Switch { client, head } => {
                let mut primary = elect(&client, &head)?;
                let sent = Arc::new(Mutex::new(VecDeque::new()));
                let asked = Arc::clone(&sent);
                let chunks = chunks.into_iter().zip(1..).map(move |(chunk, number)| {
                    // Entries of a file or a snapshot take the place of those that are there.
                    let upsert =
                        |op: i32| if op == pb::Op::Insert as i32 { pb::Op::Upsert as i32 } else { op };
                    let mut chunk = pb::Chunk {
                        number,
                        sets: chunk.sets,
                        entities: chunk.entities,
                        entities_op: upsert(chunk.entities_op),
                        ..(*head).clone()
                    };
                    chunk.sets.iter_mut().for_each(|set| set.op = upsert(set.op));
                    asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(Ops::of(&chunk));
                    chunk
                });
                let is_written = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    let watched = scope.spawn(|| {
                        let lost = lost_election(&mut primary, &is_written);
                        is_over.fetch_or(lost.is_some(), Ordering::AcqRel);
                        lost
                    });
                    let mut outcome = Ok(());
                    let written = client.bulk_write(chunks, |mut done| {
                        let ops = sent.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        ops.iter().for_each(|ops| ops.forgive(&mut done));
                        outcome = take(done);
                        outcome.is_ok()
                    });
                    is_written.store(true, Ordering::Release);
                    let lost = watched.join().unwrap_or_default();
                    match (written, outcome, lost) {
                        (Ok(()), Ok(()), None) => Ok(Written { file: None }),
                        (_, _, Some(why)) => Err(failed(why)),
                        (Err(failure), _, None) => Err(failed(failure)),
                        (Ok(()), Err(exit), None) => Err(exit),
                    }
                })
            }
        }
    }
}

/// The parts of a chunk, in the order of their codes: their entries, and whether they are deleted.
struct Ops(Vec<(usize, bool)>);

impl Ops {
    fn of(chunk: &pb::Chunk) -> Ops {
        let is_delete = |op: i32| op == pb::Op::Delete as i32;
        let mut parts: Vec<_> = chunk.sets.iter().map(|set| (set.n as usize, is_delete(set.op))).collect();
        parts.push((chunk.entities.len(), is_delete(chunk.entities_op)));
        Ops(parts)
    }

    /// Forgives deletions of entries that are not there: one that came and went between two looks was never copied.
    fn forgive(&self, done: &mut pb::Done) {
        let of_deletes = self.0.iter().flat_map(|(n, is_delete)| std::iter::repeat_n(*is_delete, *n));
        let is_gone = |(code, is_delete): (&u8, bool)| is_delete && *code == Code::NotFound as u8;
        let n_gone = done.codes.iter().zip(of_deletes).filter(|of| is_gone(*of)).count() as u64;
        done.n_failed = done.n_failed.saturating_sub(n_gone);
        let is_delete = |set: u32| self.0.get(set as usize).is_some_and(|(_, is_delete)| *is_delete);
        done.failures.retain(|of| of.code != Code::NotFound.number() || !is_delete(of.set));
    }
}

/// All that was read has been written.
pub struct Written {
    file: Option<(FileWriter<BufWriter<tempfile::NamedTempFile>>, PathBuf)>,
}

impl Written {
    /// Puts a file in its place, once it is known that nothing is missing.
    pub fn commit(self) -> Result<(), Exit> {
        let Some((file, path)) = self.file else { return Ok(()) };
        let file = file.finish().map_err(|error| cannot_write(&path, &error))?;
        let file = file.into_inner().map_err(|error| cannot_write(&path, error.error()))?;
        file.persist(&path).map_err(|error| cannot_write(&path, &error.error))?;
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Exit {
    environment(format!("cannot write {}: {error}", path.display()))
}

/// Becomes the primary controller of a switch, as long as the stream lives.
fn elect<'c>(client: &'c Client, head: &pb::Chunk) -> Result<Stream<'c>, Exit> {
    let role = (!head.role.is_empty()).then(|| p4::Role { name: head.role.clone(), ..p4::Role::default() });
    let bid = p4::MasterArbitrationUpdate {
        device_id: head.device_id,
        role,
        election_id: head.election_id,
        ..p4::MasterArbitrationUpdate::default()
    };
    let refused = |failure: grpc::Failure| failed(format!("{failure}; --election-id names another id"));
    let mut stream = client.stream(ToServer::Arbitration(bid)).map_err(refused)?;
    match stream.next(ANSWER_TIME).map_err(refused)? {
        Next::Message(FromServer::Arbitration(notice)) => {
            let code = notice.status.map_or(Code::Ok, |status| Code::of_number(status.code));
            if code == Code::Ok {
                return Ok(stream);
            }
            let highest = notice.election_id.map_or(0, |id| id.low);
            Err(failed(match code {
                Code::NotFound => format!(
                    "nobody is primary of the second switch, and election id {highest} has won before: --election-id \
                     {highest} or a higher one is needed"
                ),
                _ => format!(
                    "another controller is primary of the second switch; --election-id {} takes its place",
                    highest.saturating_add(1)
                ),
            }))
        }
        Next::Message(_) | Next::Nothing | Next::End => Err(failed("the second switch does not answer")),
    }
}

/// Waits until another controller is primary, or the stream has ended, and says so; `None` once all is written.
fn lost_election(stream: &mut Stream<'_>, is_written: &AtomicBool) -> Option<String> {
    while !is_written.load(Ordering::Acquire) {
        match stream.next(LOOK_TIME) {
            Ok(Next::Message(FromServer::Arbitration(notice))) => {
                let code = notice.status.map_or(Code::Ok, |status| Code::of_number(status.code));
                if code != Code::Ok {
                    let highest = notice.election_id.map_or(0, |id| id.low);
                    return Some(format!(
                        "another controller has become primary of the second switch, with election id {highest}: entries \
                         that it has not got yet are missing there"
                    ));
                }
            }
            Ok(Next::Message(_) | Next::Nothing) => {}
            Ok(Next::End) => return Some("the second switch has ended the session".to_owned()),
            Err(failure) => return Some(format!("the session with the second switch has ended: {failure}")),
        }
    }
    None
}
