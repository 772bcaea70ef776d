import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * One of many contenders of one process, for a time. {@code src/contend.rs} is the same in Rust, and
 * says what holders write.
 */
record Contender(Kinds kinds, String[] words) implements Callable<Integer> {

    /** A contender for each client: {@code contend KIND NAME MS SHORTEST LONGEST FOLDER}. */
    static String all(List<Kinds> clients, String[] words) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(clients.size());
        List<Contender> contenders = new ArrayList<>();
        for (Kinds client : clients) {
            contenders.add(new Contender(client, words));
        }
        int holds = 0;
        for (Future<Integer> contender : threads.invokeAll(contenders)) {
            holds += contender.get();
        }
        threads.shutdown();
        return String.valueOf(holds);
    }

    @Override
    public Integer call() throws Exception {
        PeerLock lock = kinds.lock(words[1], words[2]);
        String id = kinds.first().getId() + ":" + Thread.currentThread().getId();
        Duration length = Duration.ofMillis(Long.parseLong(words[3]));
        long shortest = Long.parseLong(words[4]);
        long longest = Long.parseLong(words[5]);
        long end = System.nanoTime() + length.toNanos();
        int holds = 0;
        while (System.nanoTime() < end) {
            long asked = Hammer.nowUs();
            lock.acquire();
            try {
                section(id, asked, shortest, longest);
            } finally {
                lock.release();
            }
            holds++;
            // Without it, the one that lets go would be the next one, too.
            Thread.sleep(1);
        }
        return holds;
    }

    private void section(String id, long asked, long shortest, long longest) throws Exception {
        long granted = Hammer.nowUs();
        Path count = Path.of(words[6], "count");
        long counted = Long.parseLong(Files.readString(count));
        // Not all alike.
        Thread.sleep(shortest + counted * 37 % (longest - shortest + 1));
        Files.writeString(count, String.valueOf(counted + 1));
        String line = "java " + id + " " + asked + " " + granted + " " + Hammer.nowUs() + "\n";
        Path log = Path.of(words[6], "holds");
        Files.writeString(log, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
