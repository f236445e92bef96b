//! The server: addresses, TLS, limits, threads.

use crate::bulk::BulkService;
use crate::bulk_v1::bulk_server::BulkServer;
use crate::connections;
use crate::device::Device;
use crate::encoded::EncodedService;
use crate::http2::Http2;
use crate::local::{Local, LocalService, UpdateCounts};
use crate::messages;
use crate::outbox::Bounds;
use crate::p4_v1::p4_runtime_server::P4RuntimeServer;
use crate::service::Service;
use crate::shared::{Shared, lock};
use crate::tls::{self, Tls};
use control::session::Sessions;
use control::translate::TranslationError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tonic::service::Routes;

/// A client that does not answer for so long is gone.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for requests under way when the server ends.
const END_TIME: Duration = Duration::from_secs(2);

/// An address to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Address::Unix(path.into()));
        }
        // BMv2 and its scripts write no address.
        let text = text.strip_prefix(':').map_or_else(|| text.to_owned(), |port| format!("0.0.0.0:{port}"));
        let error = || format!("`{text}` is neither ADDRESS:PORT nor unix:PATH, such as 127.0.0.1:9559");
        text.replacen("localhost:", "127.0.0.1:", 1).parse().map(Address::Tcp).map_err(|_| error())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Limits of what clients can take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest message in bytes.
    pub message_bytes_max: usize,
    /// Length in bytes of the messages that wait for one stream. Packets are left out first.
    pub waiting_bytes_max: usize,
    /// A stream that takes no message for so long is closed.
    pub stuck: Duration,
    /// Requests of one connection at a time.
    pub n_requests_max: u32,
    /// A client is asked whether it is there after so long, and has so long to answer.
    pub keepalive: (Duration, Duration),
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message_bytes_max: 128 << 20,
            waiting_bytes_max: 8 << 20,
            stuck: Duration::from_nanos(control::outbox::STUCK_NS),
            n_requests_max: 1024,
            keepalive: (KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT),
        }
    }
}

/// How a server listens.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub address: Address,
    pub device_id: u64,
    pub tls: Option<Tls>,
    pub limits: Limits,
    /// Values of controllers that the program knows by others.
    pub translation: control::translate::Options,
    /// Takes writes without an election id from anybody, as long as nobody has arbitrated.
    pub without_arbitration: bool,
    /// Decodes requests as whole messages, without the short way for usual updates.
    pub decodes_in_full: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen at {address}: {error}")]
    Listen { address: Address, error: io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("the keys or certificates cannot be used: {0}")]
    Tls(String),
    #[error(transparent)]
    Translation(#[from] TranslationError),
}

/// A socket at which clients can connect before there is a server to answer them.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl Listener {
    /// Listens at an address.
    pub fn bind(address: &Address) -> Result<Listener, StartError> {
        let failed = |error| StartError::Listen { address: address.clone(), error };
        match address {
            Address::Tcp(at) => {
                let listener = std::net::TcpListener::bind(at).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let address = Address::Tcp(listener.local_addr().map_err(failed)?);
                Ok(Listener { socket: Socket::Tcp(listener), address })
            }
            Address::Unix(path) => {
                // A socket that a process has left behind is in the way; one that somebody listens at is not touched.
                if std::os::unix::net::UnixStream::connect(path).is_err()
                    && std::fs::symlink_metadata(path).is_ok_and(|data| is_socket(&data))
                {
                    let _ = std::fs::remove_file(path);
                }
                let listener = std::os::unix::net::UnixListener::bind(path).map_err(failed)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Ok(Listener { socket: Socket::Unix(listener), address: address.clone() })
            }
        }
    }
}

/// Listens until it is dropped.
pub struct Server {
    address: Address,
    runtime: Option<Runtime>,
    /// Connections end when the sender is gone; the task waits until they have ended.
    serving: Option<(watch::Sender<()>, tokio::task::JoinHandle<()>)>,
    messages: Option<JoinHandle<()>>,
    /// Ends the thread for messages.
    end_messages: Box<dyn Fn() + Send + Sync>,
    local: Arc<dyn Local>,
}

impl Server {
    pub fn start<D: Device>(device: D, options: ServerOptions) -> Result<Server, StartError> {
        let listener = Listener::bind(&options.address)?;
        Server::start_on(listener, device, options)
    }

    /// Starts at a socket that listens already, whatever the address of the options. Clients that have connected before
    /// are answered now.
    pub fn start_on<D: Device>(
        listener: Listener,
        device: D,
        options: ServerOptions,
    ) -> Result<Server, StartError> {
        let Listener { socket, address } = listener;
        let ServerOptions {
            address: _,
            device_id,
            tls,
            limits,
            translation,
            without_arbitration,
            decodes_in_full,
        } = options;
        let mut sessions = Sessions::new(device_id);
        if without_arbitration {
            sessions = sessions.without_arbitration();
        }
        let bounds = Bounds { n_bytes_max: limits.waiting_bytes_max, stuck: limits.stuck };
        let shared = Arc::new(Shared {
            is_quick: !decodes_in_full,
            ..Shared::new(device, sessions, translation, bounds)
        });
        shared.notice(&mut lock(&shared.pipelines))?;
        // For connections that arrive, and for clients without one.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(connections::N_BLOCKING_THREADS)
            .thread_name("p4runtime accept")
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let service = P4RuntimeServer::new(Service(Arc::clone(&shared)))
            .max_decoding_message_size(limits.message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let service = EncodedService {
            shared: Arc::clone(&shared),
            others: service,
            message_bytes_max: limits.message_bytes_max,
        };
        let local = LocalService { shared: Arc::clone(&shared), runtime: runtime.handle().clone() };
        let bulk = BulkServer::new(BulkService(local.clone()))
            .max_decoding_message_size(limits.message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let http2 = Arc::new(Http2 {
            shared: Arc::clone(&shared),
            routes: Routes::new(service).add_service(bulk).prepare(),
            tls: tls.as_ref().map(tls::acceptor).transpose().map_err(StartError::Tls)?,
            message_bytes_max: limits.message_bytes_max,
            n_requests_max: limits.n_requests_max,
            keepalive: limits.keepalive,
        });
        let (stop, stopped) = watch::channel(());
        let failed = |error| StartError::Listen { address: address.clone(), error };
        let _context = runtime.enter();
        let serving = match socket {
            Socket::Tcp(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
                runtime.spawn(connections::serve(listener, http2, stopped, END_TIME))
            }
            Socket::Unix(listener) => {
                let listener = tokio::net::UnixListener::from_std(listener).map_err(failed)?;
                runtime.spawn(connections::serve(listener, http2, stopped, END_TIME))
            }
        };
        drop(_context);
        let is_over = Arc::new(AtomicBool::new(false));
        let (carried, over) = (Arc::clone(&shared), Arc::clone(&is_over));
        let messages = std::thread::Builder::new()
            .name("p4runtime messages".to_owned())
            .spawn(move || messages::carry(&carried, &over))
            .map_err(StartError::Thread)?;
        let ended = Arc::clone(&shared);
        let end_messages = Box::new(move || {
            is_over.store(true, Ordering::Release);
            // The thread looks at the flag with the lock, so it sees this.
            drop(lock(&ended.controllers));
            ended.primary_came.notify_all();
            ended.device.wake();
        });
        Ok(Server {
            address,
            runtime: Some(runtime),
            serving: Some((stop, serving)),
            messages: Some(messages),
            end_messages,
            local: Arc::new(local),
        })
    }

    /// The address at which it listens, with the port that the system has chosen.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The service for controllers without a connection. It outlives the server, and then has no streams.
    pub fn local(&self) -> Arc<dyn Local> {
        Arc::clone(&self.local)
    }

    /// Streams of controllers that are open.
    pub fn n_streams(&self) -> usize {
        self.local.n_streams()
    }

    /// Updates of controllers since the server has started, see [`Local::n_updates`].
    pub fn n_updates(&self) -> UpdateCounts {
        self.local.n_updates()
    }

    /// Packets, digests and idle notices for which there was no controller, or one that reads too slowly.
    pub fn n_lost(&self) -> u64 {
        self.local.n_lost()
    }
}

fn is_socket(data: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    data.file_type().is_socket()
}

impl Drop for Server {
    fn drop(&mut self) {
        (self.end_messages)();
        let serving = self.serving.take().map(|(stop, serving)| {
            drop(stop);
            serving
        });
        if let Some(messages) = self.messages.take() {
            let _ = messages.join();
        }
        if let Some(runtime) = self.runtime.take() {
            if let Some(serving) = serving {
                let _ = runtime.block_on(serving);
            }
            runtime.shutdown_timeout(END_TIME);
        }
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
