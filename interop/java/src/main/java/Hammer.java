import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * Acquires and releases, and has a witness for it. {@code src/hammer.rs} is the same in Rust, and
 * says what the witness knows.
 */
final class Hammer {
    private static final String SELF = "java";

    private final List<Turn> turns;
    private final Path inside;
    private final Path witness;

    private int overlaps;
    private int backward;
    private int crossings;
    private long longestUs;

    /** A lock, and whether it is for reading. */
    record Turn(PeerLock lock, boolean reads) {}

    Hammer(List<Turn> turns, Path folder) {
        this.turns = turns;
        this.inside = folder.resolve("inside");
        this.witness = folder.resolve("witness");
    }

    String run(int holds) throws Exception {
        for (int i = 0; i < holds; i++) {
            Turn turn = turns.get(i % turns.size());
            long token = turn.lock().acquire();
            if (turn.reads()) {
                reading();
            } else {
                section(token);
            }
            turn.lock().release();
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
        String[] last = look(Files.readString(witness));
        backward += token != PeerLock.WITHOUT_TOKEN && token <= Long.parseLong(last[1]) ? 1 : 0;
        long count = Long.parseLong(last[0]) + 1;
        Files.writeString(witness, count + " " + token + " " + SELF + " " + nowUs());
        if (!Files.deleteIfExists(inside)) {
            overlaps++;
        }
    }

    private void reading() throws IOException {
        boolean isDisturbed = Files.exists(inside);
        String before = Files.readString(witness);
        look(before);
        boolean isChanged = !Files.readString(witness).equals(before);
        overlaps += isDisturbed || isChanged || Files.exists(inside) ? 1 : 0;
    }

    /** What the witness says, word by word. */
    private String[] look(String witness) {
        String[] last = witness.split(" ");
        crossings += last[2].equals(SELF) ? 0 : 1;
        longestUs = Math.max(longestUs, nowUs() - Long.parseLong(last[3]));
        return last;
    }

    static long nowUs() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}
