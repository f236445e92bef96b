//! A client that blocks: requests to a P4Runtime server, and one stream.

use crate::bulk_v1::bulk_client::BulkClient;
use crate::p4_v1::p4_runtime_client::P4RuntimeClient;
use crate::raw::RawCodec;
use control::Code;
use p4info::proto::google::rpc;
use p4info::proto::p4::v1 as pb;
use p4info::proto::siding::bulk::v1 as bulk;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use prost::Message;
use prost::bytes::Bytes;
use std::error::Error;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status, Streaming};

/// The port of P4Runtime.
pub const PORT: u16 = 9559;
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Chunks that wait to be sent.
const N_CHUNKS_WAITING: usize = 4;
/// Messages to the server that wait on a stream.
const N_WAITING: usize = 64;
/// Flow control windows: with small ones a server waits for each round trip.
pub(crate) const WINDOW_BYTES: u32 = 8 << 20;
/// The trailer of an answer has an error for each update of the request.
pub(crate) const TRAILER_BYTES_MAX: u32 = 64 << 20;

/// Address of a server: `HOST:PORT`, `HOST` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    Tcp { host: String, port: u16 },
    Unix(String),
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerAddress, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err("the path of the socket is missing; write unix:PATH".to_owned()),
                false => Ok(ServerAddress::Unix(path.to_owned())),
            };
        }
        let wrong = || format!("`{text}` is neither HOST:PORT nor unix:PATH, such as 127.0.0.1:{PORT}");
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) => {
                (host, port.parse().map_err(|_| wrong())?)
            }
            Some(_) | None => (text, PORT),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        match host {
            "" => Ok(ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port }),
            host if host.chars().all(is_host) => Ok(ServerAddress::Tcp { host: host.to_owned(), port }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            ServerAddress::Tcp { host, port } => write!(f, "{host}:{port}"),
            ServerAddress::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

/// Encryption, with certificates and keys as PEM.
#[derive(Clone, Debug, Default)]
pub struct ClientTls {
    /// The authority that has signed the certificate of the server.
    pub authority: Vec<u8>,
    /// Certificate and key of the client.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the certificate of the server, if it is not that of its host.
    pub server_name: Option<String>,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens at the address.
    #[error("nothing listens at {0}")]
    Refused(ServerAddress),
    #[error("{address} does not answer: {why}")]
    Unreachable { address: ServerAddress, why: String },
    #[error("the keys or certificates cannot be used: {0}")]
    Tls(String),
    #[error("cannot start a thread: {0}")]
    Thread(String),
}

impl ConnectError {
    pub(crate) fn of(address: &ServerAddress, kind: Option<io::ErrorKind>, why: String) -> ConnectError {
        match kind {
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
                ConnectError::Refused(address.clone())
            }
            Some(_) | None => ConnectError::Unreachable { address: address.clone(), why },
        }
    }
}

/// A request that has failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    /// One for each part of the request, if the server says what has become of them; code 0 where it went well.
    pub parts: Vec<pb::Error>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.is_empty() {
            true => f.write_str(self.code.name()),
            false => write!(f, "{}: {}", self.code.name(), self.message),
        }
    }
}

impl Error for Failure {}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        let details = rpc::Status::decode(status.details()).map(|status| status.details).unwrap_or_default();
        let parts = details.iter().map(|detail| pb::Error::decode(&*detail.value));
        let (code, message) = match causes(&status).last() {
            // Not the server's answer, but the connection's fault.
            Some(cause) => (Code::Unavailable, format!("the connection has failed: {cause}")),
            None => (Code::of_number(status.code() as i32), status.message().to_owned()),
        };
        Failure { code, message, parts: parts.collect::<Result<_, _>>().unwrap_or_default() }
    }
}

/// The errors behind an error, the nearest first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}

/// A connection to a server. Its calls block.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    channel: Channel,
    service: P4RuntimeClient<Channel>,
}

impl Client {
    pub fn connect(address: &ServerAddress, tls: Option<&ClientTls>) -> Result<Client, ConnectError> {
        let thread = |error: io::Error| ConnectError::Thread(error.to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(thread)?;
        let endpoint = endpoint(address, tls)?;
        let connected = runtime.block_on(endpoint.connect());
        let channel = connected.map_err(|error| {
            let io = causes(&error).find_map(|cause| cause.downcast_ref::<io::Error>());
            let why = causes(&error).last().map_or_else(|| error.to_string(), ToString::to_string);
            ConnectError::of(address, io.map(io::Error::kind), why)
        })?;
        let service = P4RuntimeClient::new(channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        Ok(Client { runtime, channel, service })
    }

    pub fn capabilities(&self, device_id: u64) -> Result<pb::CapabilitiesResponse, Failure> {
        let request = pb::CapabilitiesRequest { device_id };
        let mut service = self.service.clone();
        Ok(self.runtime.block_on(service.capabilities(request))?.into_inner())
    }

    /// The program of the switch; `None` if it has none.
    pub fn pipeline_config(
        &self,
        device_id: u64,
        parts: pb::get_forwarding_pipeline_config_request::ResponseType,
    ) -> Result<Option<pb::ForwardingPipelineConfig>, Failure> {
        let request = pb::GetForwardingPipelineConfigRequest { device_id, response_type: parts.into() };
        let mut service = self.service.clone();
        let response = self.runtime.block_on(service.get_forwarding_pipeline_config(request))?;
        Ok(response.into_inner().config)
    }

    pub fn set_pipeline_config(
        &self,
        request: pb::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Failure> {
        let mut service = self.service.clone();
        self.runtime.block_on(service.set_forwarding_pipeline_config(request))?;
        Ok(())
    }

    pub fn write(&self, request: pb::WriteRequest) -> Result<(), Failure> {
        let mut service = self.service.clone();
        self.runtime.block_on(service.write(request))?;
        Ok(())
    }

    /// Reads entities, and hands them over as they arrive. A failure may come after some of them.
    pub fn read(
        &self,
        request: pb::ReadRequest,
        mut take: impl FnMut(Vec<pb::Entity>),
    ) -> Result<(), Failure> {
        let mut service = self.service.clone();
        let mut answers = self.runtime.block_on(service.read(request))?.into_inner();
        while let Some(answer) = self.runtime.block_on(answers.message())? {
            take(answer.entities);
        }
        Ok(())
    }

    /// Reads entities, and hands over the encoded `ReadResponse`s as they arrive.
    pub fn read_encoded(
        &self,
        request: &pb::ReadRequest,
        mut take: impl FnMut(Bytes),
    ) -> Result<(), Failure> {
        let path = http::uri::PathAndQuery::from_static(crate::encoded::READ);
        let request = Request::new(Bytes::from(request.encode_to_vec()));
        self.runtime.block_on(async {
            let mut grpc =
                tonic::client::Grpc::new(self.channel.clone()).max_decoding_message_size(usize::MAX);
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let mut answers = grpc.server_streaming(request, path, RawCodec).await?.into_inner();
            while let Some(answer) = answers.message().await? {
                take(answer);
            }
            Ok(())
        })
    }

    /// The running program and its tables, for [`bulk_write`](Self::bulk_write).
    pub fn bulk_layout(&self, device_id: u64) -> Result<bulk::LayoutResponse, Failure> {
        let mut service = self.bulk();
        Ok(self.runtime.block_on(service.layout(bulk::LayoutRequest { device_id }))?.into_inner())
    }

    /// Writes entries in columns; chunks are made as they are sent. `take` gets the answer to each, until it returns false.
    pub fn bulk_write(
        &self,
        chunks: impl Iterator<Item = bulk::Chunk> + Send + 'static,
        mut take: impl FnMut(bulk::Done) -> bool,
    ) -> Result<(), Failure> {
        let mut service = self.bulk();
        let (sender, receiver) = mpsc::channel(N_CHUNKS_WAITING);
        let sending = self.runtime.spawn_blocking(move || {
            for chunk in chunks {
                if sender.blocking_send(chunk).is_err() {
                    return;
                }
            }
        });
        let answers = self.runtime.block_on(service.write(ReceiverStream::new(receiver)));
        let mut answers = answers?.into_inner();
        while let Some(done) = self.runtime.block_on(answers.message())? {
            if !take(done) {
                return Ok(());
            }
        }
        drop(sending);
        Ok(())
    }

    /// Reads entries in columns until the end, or until `take` returns false.
    pub fn bulk_read(
        &self,
        request: bulk::ReadRequest,
        mut take: impl FnMut(bulk::Chunk) -> bool,
    ) -> Result<(), Failure> {
        let mut service = self.bulk();
        let mut chunks = self.runtime.block_on(service.read(request))?.into_inner();
        while let Some(chunk) = self.runtime.block_on(chunks.message())? {
            if !take(chunk) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn bulk(&self) -> BulkClient<Channel> {
        BulkClient::new(self.channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }

    /// Opens a stream with its first message: servers may answer only then.
    pub fn stream(&self, first: ToServer) -> Result<Stream<'_>, Failure> {
        let (requests, receiver) = mpsc::channel(N_WAITING);
        let mut service = self.service.clone();
        let stream = self.runtime.block_on(async {
            let _ = requests.send(pb::StreamMessageRequest { update: Some(first) }).await;
            service.stream_channel(ReceiverStream::new(receiver)).await
        })?;
        Ok(Stream { runtime: &self.runtime, requests, responses: stream.into_inner() })
    }
}

fn endpoint(address: &ServerAddress, tls: Option<&ClientTls>) -> Result<Endpoint, ConnectError> {
    let uri = match (address, tls) {
        (ServerAddress::Unix(_), _) => address.to_string(),
        (ServerAddress::Tcp { .. }, Some(_)) => format!("https://{address}"),
        (ServerAddress::Tcp { .. }, None) => format!("http://{address}"),
    };
    let unusable = |error: tonic::transport::Error| {
        let why = causes(&error).last().map_or_else(|| error.to_string(), ToString::to_string);
        ConnectError::Unreachable { address: address.clone(), why }
    };
    let mut endpoint = Endpoint::from_shared(uri)
        .map_err(unusable)?
        .connect_timeout(CONNECT_TIME)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .http2_max_header_list_size(TRAILER_BYTES_MAX)
        .tcp_nodelay(true);
    if let Some(tls) = tls {
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authority));
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &tls.server_name {
            config = config.domain_name(name.clone());
        }
        endpoint = endpoint.tls_config(config).map_err(|error| {
            let why = causes(&error).last().map_or_else(|| error.to_string(), ToString::to_string);
            ConnectError::Tls(why)
        })?;
    }
    Ok(endpoint)
}

/// The stream of a controller. It ends when it is dropped.
#[derive(Debug)]
pub struct Stream<'c> {
    runtime: &'c Runtime,
    requests: mpsc::Sender<pb::StreamMessageRequest>,
    responses: Streaming<pb::StreamMessageResponse>,
}

impl Stream<'_> {
    /// Sends a message. One that the server no longer takes is lost; [`next`](Self::next) then says why.
    pub fn send(&mut self, message: ToServer) {
        let message = pb::StreamMessageRequest { update: Some(message) };
        let _ = self.runtime.block_on(self.requests.send(message));
    }

    /// Waits for a message; `None` if none comes in time, or the server has ended the stream.
    pub fn next(&mut self, time: Duration) -> Result<Next, Failure> {
        let responses = &mut self.responses;
        let waited = self.runtime.block_on(async { tokio::time::timeout(time, responses.message()).await });
        match waited {
            Err(_) => Ok(Next::Nothing),
            Ok(message) => Ok(match message? {
                Some(pb::StreamMessageResponse { update: Some(update) }) => Next::Message(update),
                Some(pb::StreamMessageResponse { update: None }) => Next::Nothing,
                None => Next::End,
            }),
        }
    }
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    Message(FromServer),
    /// Nothing in time.
    Nothing,
    /// The server has ended the stream.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        let tcp = |host: &str, port| Ok(ServerAddress::Tcp { host: host.to_owned(), port });
        for (text, address) in [
            ("127.0.0.1:9559", tcp("127.0.0.1", 9559)),
            ("switch-1.lab", tcp("switch-1.lab", 9559)),
            (":50051", tcp("127.0.0.1", 50051)),
            ("[::1]:9559", tcp("::1", 9559)),
            ("::1", tcp("::1", 9559)),
            ("unix:/run/p4", Ok(ServerAddress::Unix("/run/p4".to_owned()))),
        ] {
            assert_eq!(text.parse::<ServerAddress>(), address, "{text}");
        }
        for text in ["a b:1", "host:port", "host:70000", "unix:", "http://host:1"] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
        assert_eq!("[::1]:1".parse::<ServerAddress>().unwrap().to_string(), "[::1]:1");
    }

    #[test]
    fn details_are_parts_of_a_failure() {
        let error = pb::Error { canonical_code: 5, message: "m".to_owned(), ..pb::Error::default() };
        let any = |value| prost_types::Any { type_url: "t".to_owned(), value };
        let details = vec![any(pb::Error::default().encode_to_vec()), any(error.encode_to_vec())];
        let status = rpc::Status { code: 2, message: "1 of 2 failed".to_owned(), details };
        let status =
            Status::with_details(tonic::Code::Unknown, "1 of 2 failed", status.encode_to_vec().into());
        let failure = Failure::from(status);
        assert_eq!((failure.code, failure.parts.len()), (Code::Unknown, 2));
        assert_eq!((failure.parts[0].canonical_code, &failure.parts[1]), (0, &error));
        assert_eq!(failure.to_string(), "UNKNOWN: 1 of 2 failed");
    }
}
