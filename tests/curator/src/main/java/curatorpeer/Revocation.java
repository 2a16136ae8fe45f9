package curatorpeer;

import java.util.concurrent.CountDownLatch;

/** Waits until another client has requested the release of a mutex. */
final class Revocation {
    private final CountDownLatch requested = new CountDownLatch(1);

    /** For the next acquisition of the mutex. */
    Revocation(Mutex mutex) {
        mutex.makeRevocable(requested::countDown);
    }

    String await() throws InterruptedException {
        requested.await();
        return "revoked";
    }
}
