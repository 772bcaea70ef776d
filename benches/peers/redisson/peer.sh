#!/bin/sh
# Starts what Maven has built: `peer.sh <runtime> <tasks> <kind> <url>…`.
built="$(dirname "$0")/../../../target/peers/redisson"
exec java -cp "$built/classes:$built/lib/*" Peer "$@"
