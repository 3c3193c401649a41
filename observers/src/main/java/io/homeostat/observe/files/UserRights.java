package io.homeostat.observe.files;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.primitives.ImmutableIntArray;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ChangedThread;
import io.homeostat.observe.process.HangingLooks;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.UserSwitch;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Looks at files with the rights of a workload's user and no more: who can put a link in the place of a file, or mount a file system over
 * it, gets nothing read that they can't read, and holds up nobody. Each look has a thread of its own, whose rights end with it; it is
 * abandoned when it takes too long, and until it has ended the same file is not looked at again. For many threads.
 */
public final class UserRights {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration KNOWN_FOR = Duration.ofMinutes(1);
    private static final long MOST_USERS = 1000;

    private static final UserRights OF_THIS_MACHINE = new UserRights(PATIENCE, Ticker.systemTicker());

    private final Duration patience;
    private final Cache<ProgramUser, Rights> known;
    private final HangingLooks<Question> looks = new HangingLooks<>();

    /** A user by name, its number, and those of all groups that it is in. */
    private record Rights(String name, int uid, int gid, ImmutableIntArray groups) {}

    private record Question(@Nullable ProgramUser user, String file) {}

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
     * @param user null, and for an agent that is not root any, is the agent's own
     * @param file for people, and to know what hangs
     * @throws IOException what {@code work} throws, or there is no such user, or it takes too long
     */
    public <T> T with(@Nullable ProgramUser user, String file, Callable<T> work) throws IOException {
        Question question = new Question(user, file);
        if (looks.hanging().contains(question)) {
            throw new FileSystemException(file, null, "an earlier look at it has not ended");
        }
        Rights rights = user == null || Account.ourUid() != 0 ? null : rights(user, file);
        String name = "file of " + (user == null ? "the agent" : user.name());
        // Not a virtual one: its rights are those of what carries it.
        Future<T> task = rights == null
                ? ChangedThread.start(name, work)
                : ChangedThread.run(name, () -> {
                    if (Libc.becomeForFiles(
                                    rights.uid(), rights.gid(), rights.groups().toArray())
                            < 0) {
                        throw new FileSystemException(
                                file, null, "this machine does not let root look at it as " + rights.name());
                    }
                    return work.call();
                });
        try {
            return looks.await(question, task, patience);
        } catch (TimeoutException e) {
            throw new FileSystemException(file, null, "it can't be read within " + Notation.text(patience));
        } catch (ExecutionException e) {
            if (rights != null && e.getCause() instanceof AccessDeniedException) {
                throw new FileSystemException(
                        file,
                        null,
                        "the user " + rights.name()
                                + " may not read it, or not enter a directory above it; let it (chgrp,"
                                + " chmod, or spec.supplementaryGroups), or leave out spec.user");
            }
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            throw new IOException("a look at " + file + " failed", e.getCause());
        }
    }

    /**
     * Looks at a program that is run as a user, with our own rights: that user may have mounted a file system over it that never answers.
     *
     * @param isOthers false for a program that runs as we do: nobody is in the way then
     * @param file for people, and to know what hangs
     * @throws IOException what {@code work} throws, or it takes too long
     */
    public <T> T lookFor(boolean isOthers, String file, Callable<T> work) throws IOException {
        if (isOthers) {
            return with(null, file, work);
        }
        try {
            return work.call();
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IOException("a look at " + file + " failed", e);
        }
    }

    private Rights rights(ProgramUser user, String file) throws IOException {
        Rights before = known.getIfPresent(user);
        if (before != null) {
            return before;
        }
        try {
            Account account = Account.find(user.name())
                    .orElseThrow(() -> new FileSystemException(file, null, "there is no user " + user.name()));
            Rights found = new Rights(
                    user.name(),
                    account.uid(),
                    Integer.parseUnsignedInt(UserSwitch.gid(account, user.group())),
                    ImmutableIntArray.copyOf(UserSwitch.groups(account, user.supplementaryGroups()).stream()
                            .mapToInt(Integer::parseUnsignedInt)));
            known.put(user, found);
            return found;
        } catch (UserSwitch.Refused e) {
            throw new FileSystemException(file, null, e.getMessage());
        } catch (NumberFormatException e) {
            throw new FileSystemException(file, null, "a group of the user " + user.name() + " is no possible number");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while looking for the user " + user.name());
        }
    }
}
