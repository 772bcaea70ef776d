import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;

/** A lock of any kind, for the thread that calls. */
class PeerLock {
    static final long WITHOUT_TOKEN = -1;

    protected final RLock lock;

    PeerLock(RLock lock) {
        this.lock = lock;
    }

    /** Waits for as long as it takes, under the watchdog. What is returned is a token, if any. */
    long acquire() throws Exception {
        lock.lock();
        return WITHOUT_TOKEN;
    }

    /** The same with limits, ms; a lease of -1 is the watchdog's. Null if it was refused. */
    Long acquire(long wait, long lease) throws Exception {
        return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS) ? WITHOUT_TOKEN : null;
    }

    void release() {
        lock.unlock();
    }

    boolean isHeld() {
        return lock.isHeldByCurrentThread();
    }

    boolean force() {
        return lock.forceUnlock();
    }

    /** With the token that came with the grant. */
    static final class Fenced extends PeerLock {
        private final RFencedLock fenced;

        Fenced(RFencedLock fenced) {
            super(fenced);
            this.fenced = fenced;
        }

        @Override
        long acquire() {
            return fenced.lockAndGetToken();
        }

        @Override
        Long acquire(long wait, long lease) {
            return fenced.tryLockAndGetToken(wait, lease, TimeUnit.MILLISECONDS);
        }
    }
}
