package io.homeostat.observe.files;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.UserSwitch;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at files with the rights of a workload's user and no more: who can put a link in the place of a file, or mount a file system over
 * it, gets nothing read that they can't read, and holds up nobody. Each look has a thread of its own, whose rights end with it; it is
 * abandoned when it takes too long, and until it has ended the same file is not looked at again. For many threads.
 */
public final class UserRights {
    private static final Logger LOG = LoggerFactory.getLogger(UserRights.class);
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration KNOWN_FOR = Duration.ofMinutes(1);
    private static final long MOST_USERS = 1000;

    private static final UserRights OF_THIS_MACHINE = new UserRights(PATIENCE, Ticker.systemTicker());

    private final Duration patience;
    private final Cache<String, Rights> known;
    private final ConcurrentMap<Question, FutureTask<?>> hanging = new ConcurrentHashMap<>();

    /** Numbers of a user, and of all groups that it is in. */
    private record Rights(int uid, int gid, int[] groups) {}

    private record Question(String user, String file) {}

    UserRights(Duration patience, Ticker ticker) {
        this.patience = patience;
        this.known = Caffeine.newBuilder()
                .maximumSize(MOST_USERS)
                .expireAfterWrite(KNOWN_FOR)
                .ticker(ticker)
                .build();
    }

    public static UserRights ofThisMachine() {
        return OF_THIS_MACHINE;
    }

    /**
     * Does something with a file.
     *
     * @param user a name or number; null, and for an agent that is not root any, is the agent's own
     * @param file for people, and to know what hangs
     * @throws IOException what {@code work} throws, or there is no such user, or it takes too long
     */
    public <T> T with(@Nullable String user, String file, Callable<T> work) throws IOException {
        Question question = new Question(user == null ? "" : user, file);
        FutureTask<?> before = hanging.get(question);
        if (before != null && !before.isDone()) {
            throw new FileSystemException(file, null, "an earlier look at it has not ended");
        }
        hanging.remove(question);
        Rights rights = user == null || Account.ourUid() != 0 ? null : rights(user, file);
        FutureTask<T> task = new FutureTask<>(() -> {
            if (rights != null && Libc.becomeForFiles(rights.uid(), rights.gid(), rights.groups()) < 0) {
                throw new FileSystemException(file, null, "this machine does not let root look at it as " + user);
            }
            return work.call();
        });
        // A new one, and not a virtual one: its rights are those of what carries it.
        Thread.ofPlatform().daemon().name("file of " + question.user()).start(task);
        try {
            return Uninterruptibles.getUninterruptibly(task, patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            hanging.put(question, task);
            throw new FileSystemException(file, null, "it can't be read within " + Notation.text(patience));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            throw new IOException("a look at " + file + " failed", e.getCause());
        }
    }

    private Rights rights(String user, String file) throws IOException {
        Rights before = known.getIfPresent(user);
        if (before != null) {
            return before;
        }
        try {
            Account account = Account.find(user)
                    .orElseThrow(() -> new FileSystemException(file, null, "there is no user " + user));
            Rights found = new Rights(account.uid(), account.gid(), groups(account));
            known.put(user, found);
            return found;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while looking for the user " + user);
        }
    }

    private static int[] groups(Account account) throws IOException, InterruptedException {
        try {
            String answer = UserSwitch.said("id", "-G", "--", account.name());
            if (!answer.isEmpty()) {
                return Splitter.on(' ')
                        .splitToStream(answer)
                        .mapToInt(Integer::parseInt)
                        .toArray();
            }
        } catch (UserSwitch.Refused e) {
            LOG.debug("groups of {} are not known: {}", account.name(), e.getMessage());
        }
        return new int[] {account.gid()};
    }
}
