//! The handle on a server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::clock::{self, EngineClock};
use super::direct::Direct;
use super::engine::Engine;
use super::state::{EngineState, Names, ServerMode};
use super::{connection, listener};

/// An in-process server **for development and tests**. It is not meant for production: it keeps
/// everything in memory, knows no passwords, and stops with the process.
///
/// Clones are handles on the same server. It stops when the last of them is dropped, or by
/// [`shutdown`](Self::shutdown).
///
/// # Examples
///
/// ```
/// use palisade::embedded::Server;
/// use redis::aio::MultiplexedConnection;
/// use redis::{AsyncConnectionConfig, RedisConnectionInfo};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::start()?;
/// let (mut connection, driver) = MultiplexedConnection::new_with_config(
///     &RedisConnectionInfo::default(),
///     server.connect().await?,
///     AsyncConnectionConfig::default(),
/// )
/// .await?;
/// tokio::spawn(driver);
///
/// let script = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
/// let eval = redis::cmd("EVAL").arg(&[script, "1", "sum", "42"]).to_owned();
/// let sum: i64 = eval.query_async(&mut connection).await?;
/// assert_eq!(sum, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    owner: Arc<EngineOwner>,
}

/// What ends with the last handle.
struct EngineOwner {
    id: u64,
    engine: Arc<Engine>,
    runtime: Handle,
}

impl Server {
    /// Starts a server in real time, on a thread and a runtime of its own.
    ///
    /// # Errors
    /// If the system grants no thread or no event queue. [`Unsupported`](io::ErrorKind::Unsupported)
    /// in a runtime whose time is paused, as in `#[tokio::test(start_paused = true)]`: there every
    /// limit of a client would be over before a server in real time answers.
    /// [`start_here`](Self::start_here) is for that.
    pub fn start() -> io::Result<Self> {
        if clock::is_paused_here() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, PAUSED));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let server = Self::by_chance(runtime.handle().clone());
        let engine = Arc::clone(&server.owner.engine);
        std::thread::Builder::new()
            .name("palisade-embedded".to_owned())
            .spawn(move || runtime.block_on(engine.stopped()))?;
        Ok(server)
    }

    /// Starts a server on the caller's runtime and its clock: under a paused runtime `TIME` and
    /// every time to live stand still, and move with it.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use palisade::embedded::Server;
    /// # use redis::aio::MultiplexedConnection;
    /// # use redis::{AsyncConnectionConfig, RedisConnectionInfo};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// tokio::time::pause();
    /// let server = Server::start_here();
    /// # let (mut connection, driver) = MultiplexedConnection::new_with_config(
    /// #     &RedisConnectionInfo::default(),
    /// #     server.connect().await?,
    /// #     AsyncConnectionConfig::default(),
    /// # )
    /// # .await?;
    /// # tokio::spawn(driver);
    /// let set = redis::cmd("SET").arg(&["lease", "mine", "PX", "30000"]).to_owned();
    /// let () = set.query_async(&mut connection).await?;
    ///
    /// tokio::time::advance(Duration::from_millis(29_999)).await;
    /// let left: i64 = redis::cmd("PTTL").arg("lease").query_async(&mut connection).await?;
    /// assert_eq!(left, 1);
    ///
    /// tokio::time::advance(Duration::from_millis(1)).await;
    /// let left: i64 = redis::cmd("PTTL").arg("lease").query_async(&mut connection).await?;
    /// assert_eq!(left, -2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn start_here() -> Self {
        Self::by_chance(Handle::current())
    }

    fn by_chance(runtime: Handle) -> Self {
        let clock = EngineClock::new(runtime.clone(), None, None);
        Self::of(Engine::new(clock, Names::by_chance(), false), runtime)
    }

    pub(crate) fn of(engine: Engine, runtime: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { owner: Arc::new(EngineOwner { id, engine: Arc::new(engine), runtime }) }
    }

    /// Whether the server runs on the current runtime.
    pub(crate) fn is_here(&self) -> bool {
        Handle::try_current().is_ok_and(|here| here.id() == self.owner.runtime.id())
    }

    /// Opens a connection: one end of a pipe whose other end is served.
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) while the server is down. A frozen
    /// server accepts the connection and says nothing, as a stopped process does.
    ///
    /// # Cancel safety
    /// Never waits: the connection is made at the first poll.
    pub async fn connect(&self) -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(PIPE);
        if self.attach(far) { Ok(near) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
    }

    /// Opens a connection that has no stream: see [`Direct`]. `None` while the server is down.
    #[must_use]
    pub fn direct(&self) -> Option<Direct> {
        Direct::new(Arc::clone(&self.owner.engine))
    }

    /// Serves any stream, for instance one of a simulated network. While the server is down the
    /// stream is dropped at once.
    pub fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        self.attach(stream);
    }

    fn attach(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> bool {
        let engine = Arc::clone(&self.owner.engine);
        let wake = Arc::new(Notify::new());
        let Some(id) = engine.open(None, Arc::clone(&wake)) else { return false };
        self.owner.runtime.spawn(connection::serve(engine, id, wake, stream));
        true
    }

    /// Serves TCP on a loopback address, and returns it with the port that was chosen if 0 was
    /// given. While the server is killed the port is closed; soon after a restart it is open again.
    ///
    /// # Errors
    /// If the address is not a loopback address or cannot be bound.
    ///
    /// # Cancel safety
    /// Dropping the future after its first poll may leave the port open until the server stops.
    pub async fn listen(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let engine = Arc::clone(&self.owner.engine);
        // On the server's own runtime, whose event queue the port belongs to.
        let opening = self.owner.runtime.spawn(listener::listen(engine, address));
        opening.await.map_err(io::Error::other)?
    }

    /// Cuts all connections and refuses new ones. The data is kept for [`restart`](Self::restart),
    /// and times to live run on.
    pub fn kill(&self) {
        self.owner.engine.kill(false);
    }

    /// As [`kill`](Self::kill), and the data is lost: a crash without persistence.
    pub fn kill_and_forget(&self) {
        self.owner.engine.kill(true);
    }

    /// Accepts connections again, as a new run of the server: with a new run id, an uptime of zero
    /// and no scripts. A server that was not killed is killed first.
    pub fn restart(&self) {
        self.owner.engine.restart();
    }

    /// From now on nothing is read, executed or answered, but connections stay open: as a process
    /// stopped by `SIGSTOP`. Time goes on.
    pub fn freeze(&self) {
        self.owner.engine.freeze();
    }

    /// Ends [`freeze`](Self::freeze). What was sent meanwhile is executed now, even if its sender
    /// has gone away.
    pub fn thaw(&self) {
        self.owner.engine.thaw();
    }

    /// Has every answer sent that much later than its request was executed. Answers keep their
    /// order on each connection; those already waiting keep their time.
    pub fn set_delay(&self, delay: Duration) {
        self.owner.engine.set_delay(delay);
    }

    /// Deletes all data.
    pub fn flush(&self) {
        self.owner.engine.between_requests(|state| state.flush());
    }

    /// Leaves the server as it is when it was made a replica of an empty one, and a master again. Its
    /// data is gone and its replication id is another; its run, its scripts and its connections are
    /// the same.
    pub fn change_roles(&self) {
        self.owner.engine.between_requests(EngineState::change_roles);
    }

    /// Takes over the data of another server, in place of its own, as a replica does: nothing of what is
    /// written there later. Its run, scripts and connections stay, and it answers as before; see
    /// [`promote`](Self::promote).
    ///
    /// # Examples
    /// ```
    /// # use palisade::embedded::Server;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (master, replica) = (Server::start_here(), Server::start_here());
    /// master.direct().expect("it is up").send(b"SET k v\r\n");
    /// replica.replicate(&master);
    /// replica.promote();
    /// let (mut direct, mut answer) = (replica.direct().expect("it is up"), Vec::new());
    /// direct.send(b"GET k\r\n");
    /// direct.receive(&mut answer);
    /// assert_eq!(answer, b"$1\r\nv\r\n");
    /// # }
    /// ```
    pub fn replicate(&self, master: &Self) {
        let snapshot = master.owner.engine.between_requests(|state| state.snapshot());
        self.owner.engine.between_requests(|state| state.take_in(snapshot));
    }

    /// Begins a history of its own for the data that it has [taken over](Self::replicate), as a replica does
    /// that becomes the master.
    pub fn promote(&self) {
        self.owner.engine.between_requests(|state| state.life.promote());
    }

    /// Moves the server's wall clock by so many milliseconds. Times to live follow it, as in Redis:
    /// a jump ahead ends leases early, a jump back makes them last longer.
    pub fn jump_clock(&self, by_ms: i64) {
        self.owner.engine.between_requests(|state| state.clock.jump(by_ms));
    }

    /// Sets the server's wall clock so many milliseconds ahead of where it would be without any
    /// [`jump_clock`](Self::jump_clock), or behind if negative.
    pub fn set_clock_offset(&self, offset_ms: i64) {
        self.owner.engine.between_requests(|state| state.clock.set_offset(offset_ms));
    }

    /// From now on the wall clock is fast by so many parts in a million, or slow if negative.
    pub fn set_clock_rate(&self, ppm: i64) {
        self.owner.engine.between_requests(|state| state.clock.set_rate(ppm));
    }

    /// What the server's wall clock shows, in microseconds since the beginning of 1970.
    #[must_use]
    pub fn wall_clock_us(&self) -> i64 {
        self.owner.engine.between_requests(|state| state.clock.unix_us())
    }

    /// The server's own name for its current run, as in `INFO server`: 40 hexadecimal digits.
    #[must_use]
    pub fn run_id(&self) -> String {
        self.owner.engine.between_requests(|state| state.life.run_id.clone())
    }

    /// How many commands have been executed since the start or restart, those called by scripts
    /// included: `total_commands_processed` of `INFO stats`.
    #[must_use]
    pub fn commands_processed(&self) -> u64 {
        self.owner.engine.between_requests(|state| state.stats.processed())
    }

    /// Whether the server takes connections and answers: it is not frozen, killed or shut down.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.owner.engine.mode() == ServerMode::Running
    }

    /// Distinguishes this server from all others of the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.owner.id
    }

    /// Stops the server for good, whatever handles are left.
    pub fn shutdown(&self) {
        self.owner.engine.stop();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.owner.engine.mode();
        f.debug_struct("Server").field("id", &self.owner.id).field("mode", &mode).finish()
    }
}

impl Drop for EngineOwner {
    fn drop(&mut self) {
        self.engine.stop();
    }
}

/// Why there is no server in real time.
const PAUSED: &str = "time is paused in this runtime, and a server with a thread of its own runs in \
                      real time; use Server::start_here(), which follows the runtime's clock";

/// How many bytes a pipe holds in either direction before its writer must wait.
const PIPE: usize = 64 * 1024;
