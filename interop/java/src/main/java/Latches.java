import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

/** Count-down latches: {@code latch OPERATION NAME [NUMBER]}. {@code src/latches.rs} is the same. */
final class Latches {
    private Latches() {}

    static String act(RedissonClient server, String[] words) throws InterruptedException {
        RCountDownLatch latch = server.getCountDownLatch(words[2]);
        long number = words.length > 3 ? Long.parseLong(words[3]) : 0;
        switch (words[1]) {
            case "set":
                return String.valueOf(latch.trySetCount(number));
            case "count":
                return String.valueOf(latch.getCount());
            case "down":
                latch.countDown();
                return "counted";
            case "delete":
                return String.valueOf(latch.delete());
            case "wait":
                return String.valueOf(latch.await(number, TimeUnit.MILLISECONDS));
            default:
                return "failed: not understood";
        }
    }
}
