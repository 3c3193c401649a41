package io.homeostat.actuate.task;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.task.TreeCopy.Way;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes and removes the directories that a driver of Nomad finds when it starts a task. No process of the task may run meanwhile; what it
 * has left there may be a trap all the same: we never write or delete through a link, and what is copied is made where no task can get in
 * and then renamed.
 *
 * <p>As root, the directories are open to whoever gets to them (0777, of user nobody), because drivers run tasks as anybody, and with
 * modes of their own would not find what they expect. So the directory of the allocation, in which they are, keeps all others out: one
 * user besides root may pass through it, with the group of that user, but not list it. As an ordinary user all are for that user alone.
 */
public final class TaskDirectories {
    /** What Nomad puts into a chroot, below the root. */
    static final ImmutableList<String> SYSTEM =
            ImmutableList.of("bin", "etc", "lib", "lib32", "lib64", "run/resolvconf", "sbin", "usr");

    /** What is small, and what root in a chroot is most likely to write to: with a link, it would write to the machine's. */
    private static final ImmutableList<Path> CONFIGURATION = ImmutableList.of(Path.of("etc"), Path.of("run"));

    private static final int FOR_ALL = 0777;
    private static final int FOR_ALL_BUT_OTHERS_FILES = 01777;
    private static final int OURS = 0700;
    private static final int OUTSIDERS_PASS = 0001;

    /** The group may pass through, to what its members know the name of. */
    private static final int PASSED_BY_GROUP = 0710;

    private static final int PERMISSIONS = 07777;
    private static final int NOBODY = 65_534;

    private final Path stateDir;
    private final Disk disk;
    private final Mounts mounts;
    private final Path system;

    public TaskDirectories(Layout layout) {
        this(layout.stateDir(), new LocalDisk(), new Mounts(), Path.of("/"));
    }

    /** @param system has what goes into a chroot */
    public TaskDirectories(Path stateDir, Disk disk, Mounts mounts, Path system) {
        this.stateDir = stateDir;
        this.disk = disk;
        this.mounts = mounts;
        this.system = system;
    }

    /**
     * What is to be in {@code local/}.
     *
     * @param identity tells it from all others that were ever there: a new one is copied, the same one is not
     * @param directory whose contents are copied
     */
    public record Contents(String identity, Path directory) {
        /** @throws IllegalArgumentException when the identity is blank */
        public Contents {
            if (identity.isBlank()) {
                throw new IllegalArgumentException("what is in " + directory + " has no identity");
            }
        }
    }

    /**
     * Makes what is missing. What is there stays, except for {@code local/}, which is replaced as a whole when it was made of other
     * contents.
     *
     * @param contents null for an empty {@code local/}, or whatever the task has put there
     * @param user who gets to them besides root, see {@link #admit}
     * @return what is not as it should be, though the task may start, for people
     * @throws ActuationFailure when the task can't start with what there is
     */
    public ImmutableList<String> prepare(
            TaskPlace place, Isolation isolation, @Nullable Contents contents, @Nullable Account user)
            throws ActuationFailure, InterruptedException {
        ImmutableList.Builder<String> remarks = ImmutableList.builder();
        try {
            Owner owner = Owner.ofTasks();
            disk.makeDirectories(place.root());
            if (owner.areWeRoot()) {
                // Until all is there nobody gets in, to mount something over what is being made.
                Optional<String> _ = admit(place, null);
                mounts.clearOfUsers(place.root());
            }
            discard(place.staging());
            makeDirectory(place.shared(), FOR_ALL, owner);
            for (String name : new String[] {"logs", "tmp", "data"}) {
                makeDirectory(place.shared().resolve(name), FOR_ALL, owner);
            }
            makeDirectory(place.directory(), FOR_ALL, owner);
            install(place, contents);
            makeDirectory(place.local(), FOR_ALL, owner);
            makeDirectory(place.tmp(), FOR_ALL_BUT_OTHERS_FILES, owner);
            makeSecret(place.secrets(), owner).ifPresent(remarks::add);
            makeSecret(place.hidden(), owner).ifPresent(remarks::add);
            isolate(place, isolation, owner);
            discard(place.staging());
            if (owner.areWeRoot()) {
                admit(place, user).ifPresent(remarks::add);
            }
            return remarks.build();
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not make the directories of the task " + place.task() + " in " + place.root() + ": "
                            + Disk.reason(e),
                    false,
                    e);
        }
    }

    /** Whether users whom {@link #admit} does not let in can pass into an allocation, as those of an older version do. */
    public static boolean isOpenToAll(TaskPlace place) throws IOException {
        return ((int) Files.getAttribute(place.root(), "unix:mode") & OUTSIDERS_PASS) != 0;
    }

    /**
     * Lets one user into an allocation that exists, and from then on nobody else but root. Who is in it already stays. Only for root.
     *
     * @param user who may pass, as may all others with the same primary group; null for nobody
     * @return what keeps the user out all the same, for people
     */
    public Optional<String> admit(TaskPlace place, @Nullable Account user) throws IOException {
        // All above it is ours, so a link in its place is one by which root has moved it to a larger disk.
        try (PinnedFile pinned = PinnedFile.following(place.root())) {
            PinnedFile.Facts facts = pinned.facts();
            int group = user == null ? 0 : user.gid();
            int mode = user == null ? OURS : PASSED_BY_GROUP;
            if (facts.gid() != group) {
                Files.setAttribute(pinned.path(), "unix:gid", group);
            }
            if ((facts.mode() & PERMISSIONS) != mode) {
                Files.setAttribute(pinned.path(), "unix:mode", mode);
            }
        }
        if (user == null) {
            return Optional.empty();
        }
        SecureDirectories.letThrough(stateDir, place.root());
        return user.barredOnTheWayTo(place.directory())
                .map(closed -> "user " + user.name() + " can't reach " + place.directory() + ", because " + closed
                        + " is closed to others; open it (chmod o+x), or use another state directory");
    }

    /**
     * Removes a whole allocation: unmounts what is mounted there, then deletes everything. Does nothing when it is gone.
     *
     * @param root the directory of the allocation
     * @throws ActuationFailure that names what could not be removed; the rest is gone
     */
    public void remove(Path root) throws ActuationFailure {
        try {
            if (Files.notExists(root, LinkOption.NOFOLLOW_LINKS)) {
                return;
            }
            if (!Files.isDirectory(root, LinkOption.NOFOLLOW_LINKS)) {
                throw new FileSystemException(root.toString(), null, "is no directory; remove it");
            }
            // First, because what they say is not true any more.
            try (DirectoryStream<Path> notes = Files.newDirectoryStream(root, ".{installed,chroot}-*")) {
                for (Path note : notes) {
                    disk.delete(note);
                }
            }
            discard(root);
            disk.syncDirectory(root.toAbsolutePath().getParent());
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not remove all of the allocation " + root + ": " + Disk.reason(e), false, e);
        }
    }

    private void discard(Path tree) throws IOException {
        HostileTree.delete(tree, mounts);
    }

    /** Directly below one that only we can rename. Whatever else has the name goes. */
    private static void makeDirectory(Path directory, int mode, Owner owner) throws IOException {
        try {
            create(directory);
        } catch (FileAlreadyExistsException e) {
            if (!PinnedFile.isDirectory(directory)) {
                Files.delete(directory);
                create(directory);
            }
        }
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            UserMounts.now().check(pinned);
            PinnedFile.Facts facts = pinned.facts();
            if (!facts.basic().isDirectory()) {
                throw new FileSystemException(directory.toString(), null, "something else took its place");
            }
            if (owner.areWeRoot()
                    && (facts.uid() != owner.account().uid()
                            || facts.gid() != owner.account().gid())) {
                Files.setAttribute(pinned.path(), "unix:gid", owner.account().gid());
                Files.setAttribute(pinned.path(), "unix:uid", owner.account().uid());
            }
            int wanted = owner.areWeRoot() ? mode : OURS;
            // Another owner takes setuid and setgid from a file, and nothing from a directory.
            if ((facts.mode() & PERMISSIONS) != wanted) {
                Files.setAttribute(pinned.path(), "unix:mode", wanted);
            }
        }
    }

    private static void create(Path directory) throws IOException {
        Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(SecureDirectories.OURS));
    }

    /** In memory, so that nothing is left on a disk; for its owner alone where that can't be. */
    private Optional<String> makeSecret(Path directory, Owner owner) throws IOException {
        if (!mounts.isMounted(directory)) {
            makeDirectory(directory, OURS, owner);
            if (!owner.areWeRoot()) {
                return Optional.empty();
            }
            Optional<String> problem = mounts.memory(directory);
            if (problem.isPresent()) {
                return Optional.of(
                        directory + " is on the disk, because nothing could be mounted there: " + problem.get());
            }
        }
        makeDirectory(directory, FOR_ALL, owner);
        return Optional.empty();
    }

    /** Interrupted anywhere, it begins anew: the note on what is there goes first and comes last. */
    private void install(TaskPlace place, @Nullable Contents contents) throws IOException, ActuationFailure {
        Optional<String> there = read(place.installedNote());
        String wanted = contents == null ? null : contents.identity();
        boolean isThere = PinnedFile.isDirectory(place.local());
        if (wanted == null ? there.isEmpty() : isThere && there.equals(Optional.of(wanted))) {
            return;
        }
        Path staging = place.staging();
        Path fresh = staging.resolve("local");
        // What comes next destroys what it names; without it, an interrupted change to no contents would look complete.
        disk.write(place.installedNote(), new byte[0]);
        disk.makeDirectories(staging);
        if (contents != null) {
            if (!Files.isDirectory(contents.directory())) {
                throw new ActuationFailure(
                        FailureCause.Kind.FILE_MISSING,
                        "the files of the task " + place.task() + " can't be installed: there is no directory "
                                + contents.directory(),
                        false);
            }
            TreeCopy.copy(contents.directory(), fresh, Way.INSTALLED);
            // Whoever is not root may not rename one that they may not write to.
            Files.setPosixFilePermissions(fresh, SecureDirectories.OURS);
            disk.syncTree(staging);
        }
        moveAway(place.local(), staging);
        if (wanted == null) {
            disk.delete(place.installedNote());
        } else {
            disk.rename(fresh, place.local());
            disk.write(place.installedNote(), wanted.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Out of the task's reach, to be deleted there. */
    private void moveAway(Path path, Path staging) throws IOException {
        if (PinnedFile.exists(path)) {
            Path old = staging.resolve("old");
            disk.makeDirectories(old);
            disk.rename(path, old.resolve(path.getFileName()));
        }
    }

    private static Optional<String> read(Path note) throws IOException {
        try {
            return Optional.of(Files.readString(note));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private void isolate(TaskPlace place, Isolation isolation, Owner owner) throws IOException, ActuationFailure {
        switch (isolation) {
            case NONE, IMAGE -> {
                return;
            }
            case CHROOT -> {
                needRoot(place, owner, "a chroot");
                fillChroot(place);
                bindShared(place, owner);
            }
            case UNVEIL -> {
                needRoot(place, owner, "directories to be revealed");
                bindShared(place, owner);
                disk.makeDirectories(place.unveiled());
                SecureDirectories.letThrough(place.revealed(), place.unveiled());
                bind(place.directory(), place.unveiled());
            }
        }
    }

    private static void needRoot(TaskPlace place, Owner owner, String what) throws ActuationFailure {
        if (!owner.areWeRoot()) {
            throw new ActuationFailure(
                    FailureCause.Kind.ACCESS_DENIED,
                    "the task " + place.task() + " needs " + what
                            + ", which only root can make; run homeostat as root, or use a driver without isolation",
                    false);
        }
    }

    private void bindShared(TaskPlace place, Owner owner) throws IOException {
        if (!mounts.isMounted(place.sharedInside())) {
            makeDirectory(place.sharedInside(), FOR_ALL, owner);
        }
        bind(place.shared(), place.sharedInside());
    }

    private void bind(Path from, Path onto) throws IOException {
        Optional<String> problem = mounts.bind(from, onto);
        if (problem.isPresent()) {
            throw new FileSystemException(
                    onto.toString(), null, "could not mount " + from + " there: " + problem.get());
        }
    }

    private void fillChroot(TaskPlace place) throws IOException {
        ImmutableList<Path> parts = SYSTEM.stream()
                .map(Path::of)
                .filter(part -> Files.exists(system.resolve(part)))
                .collect(ImmutableList.toImmutableList());
        ImmutableSet<Path> names = parts.stream().map(part -> part.getName(0)).collect(ImmutableSet.toImmutableSet());
        String complete = parts.toString();
        boolean isComplete = read(place.chrootNote()).equals(Optional.of(complete))
                && names.stream()
                        .allMatch(name -> Files.exists(place.directory().resolve(name), LinkOption.NOFOLLOW_LINKS));
        if (isComplete) {
            return;
        }
        disk.delete(place.chrootNote());
        Path fresh = place.staging().resolve("chroot");
        disk.makeDirectories(fresh);
        for (Path part : parts) {
            addToChroot(part, fresh, parts);
        }
        disk.syncTree(fresh);
        for (Path name : names) {
            moveAway(place.directory().resolve(name), place.staging());
            disk.rename(fresh.resolve(name), place.directory().resolve(name));
        }
        disk.write(place.chrootNote(), complete.getBytes(StandardCharsets.UTF_8));
    }

    private void addToChroot(Path part, Path fresh, ImmutableList<Path> parts) throws IOException {
        Path source = system.resolve(part);
        Path to = fresh.resolve(part);
        Path above = part.getParent();
        if (above != null) {
            SecureDirectories.create(fresh.resolve(above), SecureDirectories.PUBLIC);
        }
        Path real = system.toRealPath().relativize(source.toRealPath());
        boolean linkWorks = Files.isSymbolicLink(source)
                && parts.stream().anyMatch(other -> !other.equals(part) && real.startsWith(other));
        if (linkWorks) {
            Files.createSymbolicLink(to, Files.readSymbolicLink(source));
        } else {
            boolean copied = CONFIGURATION.stream().anyMatch(part::startsWith);
            TreeCopy.copy(source, to, copied ? Way.SYSTEM : Way.SYSTEM_LINKED);
        }
    }

    /**
     * Whose the directories are.
     *
     * @param account nobody, or else ourselves
     */
    private record Owner(Account account, boolean areWeRoot) {
        static Owner ofTasks() throws IOException, InterruptedException {
            if (Account.ourUid() != 0) {
                return new Owner(Account.ours(), false);
            }
            Account nobody = Account.find("nobody")
                    .orElseGet(() -> new Account("nobody", NOBODY, NOBODY, "/nonexistent", "/usr/sbin/nologin"));
            return new Owner(nobody, true);
        }
    }
}
