//! A lock, taken from a real server with the tool as it was installed.

use std::{
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// # Errors
/// The lock was not taken, or the command did not run under it.
pub(crate) fn lock(tool: &Path, folder: &Path) -> Result<(), String> {
    let socket = folder.join("redis.sock");
    let _server = Server::start(&socket)?;
    let url = format!("redis+unix://{}", socket.display());
    let mut command = Command::new(tool);
    // Whatever is set for this machine.
    command.env("PALISADE_CONFIG", "/dev/null");
    command.args(["run", "--server", &url, "--nonblock", "dist", "--"]).arg(tool);
    command.args(["inspect", "--server", &url, "dist"]);
    let said = command.output().map_err(|error| format!("{}: {error}", tool.display()))?;
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    if said.status.success() && out.contains("held") {
        return Ok(());
    }
    Err(format!("a command under a lock: {}\n{out}{err}", said.status))
}

/// Ends when it is dropped.
struct Server(Child);

impl Server {
    fn start(socket: &Path) -> Result<Self, String> {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", "0", "--save", "", "--loglevel", "warning", "--unixsocket"])
            .arg(socket);
        let server = Self(
            command
                .stdout(Stdio::null())
                .spawn()
                .map_err(|error| format!("redis-server: {error}"))?,
        );
        let until = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(socket).is_err() {
            if Instant::now() > until {
                return Err("redis-server does not listen".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _may_have_ended = self.0.kill();
        let _its_code_is_of_no_use = self.0.wait();
    }
}
