import java.util.List;
import java.util.function.Function;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** What the kinds are called in commands. A new one is a line here. */
final class Kinds {
    private final List<RedissonClient> servers;

    Kinds(List<RedissonClient> servers) {
        this.servers = servers;
    }

    RedissonClient first() {
        return servers.get(0);
    }

    /** Each client by itself. */
    List<Kinds> each() {
        return servers.stream().map(List::of).map(Kinds::new).toList();
    }

    PeerLock lock(String kind, String name) {
        RedissonClient first = first();
        return switch (kind) {
            case "lock" -> new PeerLock(first.getLock(name));
            case "spin" -> new PeerLock(first.getSpinLock(name));
            case "fenced" -> new PeerLock.Fenced(first.getFencedLock(name));
            case "fair" -> new PeerLock(first.getFairLock(name));
            case "read" -> new PeerLock(first.getReadWriteLock(name).readLock());
            case "write" -> new PeerLock(first.getReadWriteLock(name).writeLock());
            case "multi" -> multi(server -> server.getLock(name));
            case "multi-fenced" -> multi(server -> server.getFencedLock(name));
            case "multi-fair" -> multi(server -> server.getFairLock(name));
            case "multi-read" -> multi(server -> server.getReadWriteLock(name).readLock());
            default -> throw new IllegalArgumentException("no such kind: " + kind);
        };
    }

    /** Over the same name on all servers, in the order in which they were given. */
    private PeerLock multi(Function<RedissonClient, RLock> member) {
        return new PeerLock(
                new RedissonMultiLock(servers.stream().map(member).toArray(RLock[]::new)));
    }
}
