package curatorpeer;

import java.util.Collection;

/** One path as one recipe. */
interface Lock {
    /** Returns whether it was granted within this many milliseconds. */
    boolean acquire(long wait) throws Exception;

    /** Returns whether the thread had it. */
    boolean release() throws Exception;

    boolean isOwnedByThread();

    /** Returns the paths of all that hold it or wait for it, first come first. */
    Collection<String> participants() throws Exception;
}
