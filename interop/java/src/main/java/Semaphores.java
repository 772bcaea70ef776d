import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** Semaphores: {@code permits KIND OPERATION NAME [NUMBER…]}. {@code src/semaphores.rs} is the same. */
final class Semaphores {
    private Semaphores() {}

    static String act(RedissonClient server, String[] words) throws Exception {
        return switch (words[1]) {
            case "semaphore" -> plain(server.getSemaphore(words[3]), words);
            case "expirable" -> leased(server.getPermitExpirableSemaphore(words[3]), words);
            default -> "failed: not understood";
        };
    }

    private static String plain(RSemaphore of, String[] words) throws Exception {
        switch (words[2]) {
            case "set":
                return String.valueOf(of.trySetPermits(number(words, 4)));
            case "add":
                of.addPermits(number(words, 4));
                return "added";
            case "count":
                return String.valueOf(of.availablePermits());
            case "drain":
                return String.valueOf(of.drainPermits());
            case "delete":
                return String.valueOf(of.delete());
            case "take":
                Duration wait = Duration.ofMillis(number(words, 5));
                boolean taken =
                        wait.isZero()
                                ? of.tryAcquire(number(words, 4))
                                : of.tryAcquire(number(words, 4), wait);
                return taken ? "granted" : "refused";
            case "give":
                of.release(number(words, 4));
                return "given";
            case "crowd":
                int most = 0;
                for (int i = 0; i < number(words, 4); i++) {
                    of.acquire();
                    most = Math.max(most, section(Path.of(words[5])));
                    of.release();
                    Thread.sleep(1);
                }
                return String.valueOf(most);
            default:
                return "failed: not understood";
        }
    }

    private static String leased(RPermitExpirableSemaphore of, String[] words) throws Exception {
        switch (words[2]) {
            case "set":
                return String.valueOf(of.trySetPermits(number(words, 4)));
            case "add":
                of.addPermits(number(words, 4));
                return "added";
            case "count":
                return String.valueOf(of.availablePermits());
            case "total":
                return String.valueOf(of.getPermits());
            case "delete":
                return String.valueOf(of.delete());
            case "take":
                String id = of.tryAcquire(number(words, 5), number(words, 4), TimeUnit.MILLISECONDS);
                return id == null ? "refused" : "granted " + id;
            case "give":
                return String.valueOf(of.tryRelease(words[4]));
            case "extend":
                return String.valueOf(
                        of.updateLeaseTime(words[4], number(words, 5), TimeUnit.MILLISECONDS));
            case "crowd":
                int most = 0;
                for (int i = 0; i < number(words, 4); i++) {
                    String permit = of.acquire(300, TimeUnit.SECONDS);
                    most = Math.max(most, section(Path.of(words[5])));
                    of.release(permit);
                    Thread.sleep(1);
                }
                return String.valueOf(most);
            default:
                return "failed: not understood";
        }
    }

    /** How many are inside. */
    private static int section(Path folder) throws IOException {
        Path own = folder.resolve("inside-" + ProcessHandle.current().pid());
        Files.createFile(own);
        try (Stream<Path> files = Files.list(folder)) {
            return (int) files.filter(f -> f.getFileName().toString().startsWith("inside-")).count();
        } finally {
            Files.delete(own);
        }
    }

    private static int number(String[] words, int at) {
        return Integer.parseInt(words[at]);
    }
}
