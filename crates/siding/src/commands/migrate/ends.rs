//! The two ends of a migration: switches and files.

use crate::cli::{EndArg, MigrateArgs};
use crate::output::{self, Exit};
use control::{Code, Schema};
use grpc::{Client, Next, ServerAddress, Stream};
use p4::stream_message_request::Update as ToServer;
use p4::stream_message_response::Update as FromServer;
use p4info::P4Info;
use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as pb;
use p4runtime::bulk::{FileError, FileReader, FileWriter};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of files that are read and written at once.
const BUFFER_BYTES: usize = 1 << 20;
/// Time for a switch to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

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
    Switch { client: Box<Client>, request: pb::ReadRequest },
    File { file: Box<FileReader<BufReader<File>>>, path: PathBuf },
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

/// Reads a file to its end, so that nothing of a damaged one is written. A pipe can be read once only.
fn check_file(path: &Path, file: &File) -> Result<(), Exit> {
    if !file.metadata().is_ok_and(|of| of.is_file()) {
        return Ok(());
    }
    let mut from = file;
    let mut reader = FileReader::new(BufReader::with_capacity(BUFFER_BYTES, from));
    let mut check = || {
        let reader = reader.as_mut().map_err(|error| in_file(path, error))?;
        while let Some(chunk) = reader.chunk().map_err(|error| in_file(path, &error))? {
            check_ops(path, &chunk)?;
        }
        Ok(())
    };
    check()?;
    from.rewind().map_err(|error| environment(format!("cannot read {}: {error}", path.display())))
}

impl Reader {
    pub fn open(args: &MigrateArgs) -> Result<Reader, Exit> {
        match &args.from {
            EndArg::File(path) => {
                let file = File::open(path)
                    .map_err(|error| environment(format!("cannot read {}: {error}", path.display())))?;
                check_file(path, &file)?;
                let file = FileReader::new(BufReader::with_capacity(BUFFER_BYTES, file));
                let file = file.map_err(|error| in_file(path, &error))?;
                if !args.tables.is_empty() {
                    output::error_line(
                        "--table needs a switch to read from: of a file all entries are taken",
                    );
                    return Err(Exit::Usage);
                }
                let header = file.header.clone();
                Ok(Reader { source: Source::File { file: Box::new(file), path: path.clone() }, header })
            }
            EndArg::Switch(address) => {
                let client = connect(address)?;
                let config = config(&client, address, args.from_device_id)?;
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
                Ok(Reader { source: Source::Switch { client: Box::new(client), request }, header })
            }
        }
    }

    /// Reads all chunks, until `take` returns false or fails.
    pub fn read(&mut self, take: &mut dyn FnMut(pb::Chunk) -> Result<bool, Exit>) -> Result<(), Exit> {
        match &mut self.source {
            Source::File { file, path } => {
                while let Some(chunk) = file.chunk().map_err(|error| in_file(path, &error))? {
                    check_ops(path, &chunk)?;
                    if !take(chunk)? {
                        return Ok(());
                    }
                }
                Ok(())
            }
            Source::Switch { client, request } => {
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

/// Fails if entries of one program mean something else in the other.
fn compare(from: &pb::FileHeader, to: &P4Info) -> Result<(), Exit> {
    let from = from.p4info.clone().unwrap_or_default();
    let same =
        from.tables == to.tables && from.actions == to.actions && from.action_profiles == to.action_profiles;
    if same {
        return Ok(());
    }
    let name = |table: &p4info::proto::p4::config::v1::Table| {
        table.preamble.as_ref().map(|preamble| preamble.name.clone()).unwrap_or_default()
    };
    let differs = from.tables.iter().find(|table| !to.tables.contains(table)).map(name);
    let what = differs.map_or_else(|| "their actions".to_owned(), |name| format!("table `{name}`"));
    output::error_line(&format!("the two programs differ in {what}: entries of one do not fit the other"));
    Err(Exit::Failed)
}

impl Writer {
    pub fn open(args: &MigrateArgs, from: &pb::FileHeader) -> Result<Writer, Exit> {
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
                let file = FileWriter::new(BufWriter::with_capacity(BUFFER_BYTES, file), from);
                let file = file.map_err(|error| cannot_write(path, &error))?;
                Ok(Writer { sink: Sink::File { file, path: path.clone() } })
            }
            EndArg::Switch(address) => {
                let client = connect(address)?;
                let config = config(&client, address, args.to_device_id)?;
                compare(from, &config.p4info.unwrap_or_default())?;
                let head = pb::Chunk {
                    device_id: args.to_device_id,
                    program: client.bulk_layout(args.to_device_id).map_err(failed)?.program,
                    role: args.role.clone(),
                    election_id: Some(p4::Uint128 { high: 0, low: args.election_id }),
                    report: pb::Report::Codes.into(),
                    ..pb::Chunk::default()
                };
                Ok(Writer { sink: Sink::Switch { client: Box::new(client), head: Box::new(head) } })
            }
        }
    }

    /// Writes all chunks, and hands over the answers.
    pub fn write(
        self,
        chunks: Receiver<pb::Chunk>,
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
                let _primary = elect(&client, &head)?;
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
                let mut outcome = Ok(());
                let written = client.bulk_write(chunks, |mut done| {
                    let ops = sent.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    ops.iter().for_each(|ops| ops.forgive(&mut done));
                    outcome = take(done);
                    outcome.is_ok()
                });
                written.map_err(failed).and(outcome)?;
                Ok(Written { file: None })
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
            Err(failed(format!(
                "another controller is primary of the second switch; --election-id {} takes its place",
                highest.saturating_add(1)
            )))
        }
        Next::Message(_) | Next::Nothing | Next::End => Err(failed("the second switch does not answer")),
    }
}
