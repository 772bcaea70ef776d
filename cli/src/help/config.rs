//! What `palisade config --help` and `palisade config show --help` say.

pub(crate) const ABOUT: &str = "\
Show which settings are in effect, and where each comes from

A setting is an option, else a variable, else a line of a file. The file is the one of --config \
or PALISADE_CONFIG; without these it is $XDG_CONFIG_HOME/palisade/config.toml \
(~/.config/palisade/config.toml), and for what is not set there /etc/palisade/config.toml. None \
is read from the current directory.

The keys of a file, which is TOML, are the long options without their dashes (but servers, a \
list), and a key's variable is PALISADE_ and the key in capitals. A [profile.NAME] has the same \
keys. The one of --profile NAME or PALISADE_PROFILE comes before all that stands outside of \
profiles. A password-file of a file is for servers of files, and no other is sent it.";

pub(crate) const MORE: &str = "\
Keys, with values as an example:
  servers         = [\"redis://a\", \"redis://b\", \"redis://c\"]
  password-file   = \"/run/credentials/palisade\"
  namespace       = \"billing:\"
  max-lease       = \"5m\"            # durations; a bare number is seconds
  fleet-max-lease = \"5m\"
  clock-skew      = \"5s\"
  quarantine      = \"several\"       # or always, strict, durable
  failover        = \"wait\"          # or trust
  failover-lag    = \"11s\"
  unidentified    = \"refuse\"        # or trust
  replicas        = 1
  tracking        = false
  sharded-pubsub  = \"auto\"          # or on, off
  tls-ca          = \"ca.pem\"        # paths begin at the folder of the file
  tls-cert        = \"client.pem\"
  tls-key         = \"client.key\"
  tls-server-name = \"redis.internal\"

  [profile.staging]
  servers         = [\"redis://staging\"]

A key that is not known, or a value that does not fit, is an error: exit code 78, with file, \
line and key. So is a file with a password, or a --password-file, that others may read, or that \
its group may write: chmod 640. Such a file belongs to root or to the user that calls palisade. \
A file that cannot be read is an error, too, since what it says would be missing. --config \
/dev/null does without any.

A password-file is for the servers that are named beside it, in the same file and profile: no others are \
sent it. Only root or the user that calls palisade may write the file.

The command of `palisade run` has PALISADE_CONFIG and PALISADE_PROFILE in its environment, as palisade \
has them by options or variables: they are a path and a name, no secret, and a palisade that it calls asks \
the same servers. PALISADE_SERVERS is removed, and servers of -s are not passed on: there, a palisade that \
the command calls takes no servers of a file in their place, unless --config or --profile says so.";

pub(crate) const SHOW_ABOUT: &str = "\
Show each setting, and where it comes from

No server is asked. Passwords are shown as ***, and so is what stands in an URL where none can \
be told from one.";

pub(crate) const SHOW_MORE: &str = "\
--json prints one object:
  files: [{path, read}], the one that counts first
  profile: what was chosen, or null; profiles: those that there are
  settings: an object with each key: {value, from: flag|environment|file|default, variable, file,
    line, profile}; value is as in a file, or null; what does not apply is left out
Fields are added, never changed.

Exit codes:
    0  they were shown
   64  wrong use, also of a variable
   78  a file cannot be read, has what is no setting, or has a password that others may read";
