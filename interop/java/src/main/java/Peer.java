import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;

/**
 * Redisson as a process that is told what to do: {@code Peer <watchdog ms> <url>…}, then a line of
 * stdin for each command and a line of stdout for each answer. {@code src/main.rs} is the same in
 * Rust, and says which commands there are.
 */
final class Peer {
    private final Kinds kinds;

    /** An owner is a thread, since that is who holds Redisson's locks. */
    private final Map<String, ExecutorService> owners = new HashMap<>();

    private Peer(List<RedissonClient> servers) {
        this.kinds = new Kinds(servers);
    }

    public static void main(String[] args) throws Exception {
        List<RedissonClient> servers = new ArrayList<>();
        for (int i = 1; i < args.length; i++) {
            servers.add(connect(args[i], Long.parseLong(args[0])));
        }
        Peer peer = new Peer(servers);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(peer.answer(line.split(" ")));
        }
        // The threads of Redisson would go on.
        System.exit(0);
    }

    private static RedissonClient connect(String url, long watchdogMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogMs);
        // Few, since many of these processes share the machine.
        config.setThreads(2);
        config.setNettyThreads(2);
        if (url.startsWith(CLUSTER)) {
            ClusterServersConfig cluster = config.useClusterServers()
                    .setMasterConnectionMinimumIdleSize(1)
                    .setMasterConnectionPoolSize(4)
                    .setTimeout(PATIENCE_MS);
            for (String host : url.substring(CLUSTER.length()).split(",")) {
                cluster.addNodeAddress("redis://" + host);
            }
        } else {
            config.useSingleServer()
                    .setAddress(url)
                    .setConnectionMinimumIdleSize(1)
                    .setConnectionPoolSize(4)
                    .setTimeout(PATIENCE_MS);
        }
        return Redisson.create(config);
    }

    private static final String CLUSTER = "redis+cluster://";

    /** So long, no machine stands still: what is late is a bug. */
    private static final int PATIENCE_MS = 20_000;

    private String answer(String[] words) throws InterruptedException {
        try {
            return switch (words[0]) {
                case "acquire" -> as(words[3], () -> acquire(words));
                case "release" -> as(words[3], () -> release(words));
                case "held" -> as(words[3], () -> lock(words).isHeld() ? "held" : "lost");
                case "force" -> lock(words).force() ? "forced" : "was free";
                case "latch" -> Latches.act(kinds.first(), words);
                case "permits" -> Semaphores.act(kinds.first(), words);
                case "hammer" -> hammer(words);
                case "contend" -> Contender.all(kinds.each(), words);
                default -> "failed: not understood";
            };
        } catch (ExecutionException failed) {
            return "failed: " + withCauses(failed.getCause());
        } catch (Exception failed) {
            return "failed: " + withCauses(failed);
        }
    }

    /** In one line: what Redisson throws itself often says nothing. */
    private static String withCauses(Throwable failed) {
        return Stream.iterate(failed, Objects::nonNull, Throwable::getCause)
                .map(cause -> cause.toString().replace('\n', ' '))
                .collect(Collectors.joining(", caused by "));
    }

    private String acquire(String[] words) throws Exception {
        Long token = lock(words).acquire(Long.parseLong(words[5]), Long.parseLong(words[4]));
        if (token == null) {
            return "refused";
        }
        return token == PeerLock.WITHOUT_TOKEN ? "granted" : "granted " + token;
    }

    private String release(String[] words) {
        try {
            lock(words).release();
            return "released";
        } catch (IllegalMonitorStateException notTheHolder) {
            return "not held";
        }
    }

    private String hammer(String[] words) throws Exception {
        List<Hammer.Turn> turns = new ArrayList<>();
        for (String kind : words[1].split("\\+")) {
            turns.add(new Hammer.Turn(kinds.lock(kind, words[2]), kind.equals("read")));
        }
        return new Hammer(turns, Path.of(words[4])).run(Integer.parseInt(words[3]));
    }

    private PeerLock lock(String[] words) {
        return kinds.lock(words[1], words[2]);
    }

    private String as(String owner, Callable<String> work)
            throws ExecutionException, InterruptedException {
        return owners.computeIfAbsent(owner, name -> Executors.newSingleThreadExecutor())
                .submit(work)
                .get();
    }
}
