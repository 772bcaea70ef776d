import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Acquires and releases, and has a witness for it. {@code src/hammer.rs} is the same in Rust, and
 * says what the witness knows.
 */
final class Hammer {
    private static final String SELF = "java";

    private final PeerLock lock;
    private final Path inside;
    private final Path witness;

    private int overlaps;
    private int backward;
    private int crossings;
    private long longestUs;

    Hammer(PeerLock lock, Path folder) {
        this.lock = lock;
        this.inside = folder.resolve("inside");
        this.witness = folder.resolve("witness");
    }

    String run(int holds) throws Exception {
        for (int i = 0; i < holds; i++) {
            long token = lock.acquire();
            section(token);
            lock.release();
            // Without it, whoever lets go would be the next one, too.
            Thread.sleep(1);
        }
        return overlaps + " " + backward + " " + crossings + " " + longestUs;
    }

    private void section(long token) throws IOException {
        try {
            Files.createFile(inside);
        } catch (FileAlreadyExistsException somebodyIsInside) {
            overlaps++;
        }
        String[] last = Files.readString(witness).split(" ");
        backward += token != PeerLock.WITHOUT_TOKEN && token <= Long.parseLong(last[1]) ? 1 : 0;
        crossings += last[2].equals(SELF) ? 0 : 1;
        longestUs = Math.max(longestUs, nowUs() - Long.parseLong(last[3]));
        long count = Long.parseLong(last[0]) + 1;
        Files.writeString(witness, count + " " + token + " " + SELF + " " + nowUs());
        if (!Files.deleteIfExists(inside)) {
            overlaps++;
        }
    }

    private static long nowUs() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}
