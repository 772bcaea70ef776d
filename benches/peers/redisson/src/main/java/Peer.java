import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's side: {@code peer <runtime> <tasks> <kind> <url>…}, then a block for each line of stdin.
 *
 * <p>A task is a thread, since that is who holds its locks.
 */
final class Peer {
    /** As long as palisade's. */
    private static final long LEASE_SECONDS = 30;

    /** Until the code that matters is compiled. */
    private static final long WARM_UP_MS = 3_000;

    private final List<RedissonClient> servers;
    private final ExecutorService threads;
    private final int tasks;
    private final String kind;

    private Peer(List<RedissonClient> servers, int tasks, String kind) {
        this.servers = servers;
        this.kind = kind;
        this.tasks = tasks;
        this.threads = Executors.newFixedThreadPool(tasks);
    }

    public static void main(String[] args) throws Exception {
        List<RedissonClient> servers =
                Arrays.stream(args).skip(3).map(Peer::connect).collect(Collectors.toList());
        Peer peer = new Peer(servers, Integer.parseInt(args[1]), args[2]);
        peer.setPermits();
        peer.block(WARM_UP_MS);
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(peer.block(Long.parseLong(line)));
        }
        // Its threads would go on.
        System.exit(0);
    }

    /** More than there are tasks. */
    private void setPermits() {
        for (int task = 0; task < tasks; task++) {
            switch (kind) {
                case "semaphore" -> servers.get(0).getSemaphore("redisson:" + task).trySetPermits(64);
                case "expirable" -> servers.get(0)
                        .getPermitExpirableSemaphore("redisson:" + task)
                        .trySetPermits(64);
                default -> {
                }
            }
        }
    }

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        return Redisson.create(config);
    }

    /** What it is told as: µs that it took, µs of CPU time, pairs of each task, µs of each pair. */
    private String block(long millis) throws Exception {
        long cpu = cpuNanos();
        long began = System.nanoTime();
        long until = began + TimeUnit.MILLISECONDS.toNanos(millis);
        List<Callable<List<String>>> work =
                IntStream.range(0, tasks)
                        .mapToObj(task -> (Callable<List<String>>) () -> repeat(task, until))
                        .collect(Collectors.toList());
        List<List<String>> micros = new ArrayList<>();
        for (Future<List<String>> done : threads.invokeAll(work)) {
            micros.add(done.get());
        }
        long took = System.nanoTime() - began;
        long used = cpuNanos() - cpu;
        String byTask = micros.stream().map(of -> "" + of.size()).collect(Collectors.joining(","));
        String each = micros.stream().flatMap(List::stream).collect(Collectors.joining(","));
        return took / 1_000 + " " + used / 1_000 + " " + byTask + " " + each;
    }

    /** Pairs, one after the other; at least one. */
    private List<String> repeat(int task, long until) throws InterruptedException {
        List<String> micros = new ArrayList<>();
        long ended;
        do {
            long began = System.nanoTime();
            pair("redisson:" + task);
            ended = System.nanoTime();
            micros.add((ended - began) / 1_000 + "." + (ended - began) / 100 % 10);
        } while (ended < until);
        return micros;
    }

    private void pair(String name) throws InterruptedException {
        RedissonClient first = servers.get(0);
        switch (kind) {
            case "semaphore" -> {
                RSemaphore semaphore = first.getSemaphore(name);
                semaphore.acquire();
                semaphore.release();
            }
            case "expirable" -> {
                RPermitExpirableSemaphore semaphore = first.getPermitExpirableSemaphore(name);
                semaphore.release(semaphore.acquire(LEASE_SECONDS, TimeUnit.SECONDS));
            }
            default -> {
                RLock lock = lock(first, name);
                lock.lock(LEASE_SECONDS, TimeUnit.SECONDS);
                lock.unlock();
            }
        }
    }

    private RLock lock(RedissonClient first, String name) {
        return switch (kind) {
            case "reading" -> first.getReadWriteLock(name).readLock();
            case "writing" -> first.getReadWriteLock(name).writeLock();
            case "fair" -> first.getFairLock(name);
            default -> ofAll(name);
        };
    }

    /** Of one server, or a majority of several. */
    private RLock ofAll(String name) {
        RLock[] locks = servers.stream().map(it -> it.getLock(name)).toArray(RLock[]::new);
        return locks.length == 1 ? locks[0] : new RedissonRedLock(locks);
    }

    private static long cpuNanos() {
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime();
    }
}
