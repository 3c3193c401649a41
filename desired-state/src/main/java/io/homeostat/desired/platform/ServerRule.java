package io.homeostat.desired.platform;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.TrustedPath.Objection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;

/**
 * Decides whether a server at a unix socket is told anything, before a byte is sent, by the user who has begun to listen, which the kernel knows
 * (SO_PEERCRED, unix(7)).
 *
 * <p>The path alone would not do: another user who can change something on the way to a socket can put a symbolic link there, at any moment, to
 * a socket to which only root may connect, and have root say there what is meant for that user's own program.
 */
@FunctionalInterface
public interface ServerRule {
    /** Looks at the way to the socket, once it is known where that is now. Waits for the file systems there. */
    Judge look();

    /** The decision that follows from the way to a socket. */
    @FunctionalInterface
    interface Judge {
        /**
         * Why a server is told nothing, and what to do; empty when it may be.
         *
         * @param server who has begun to listen
         */
        Optional<String> objection(UserPrincipal server);

        /** Returns a judge that says the same of any server. */
        private static Judge always(Optional<String> objection) {
            return _ -> objection;
        }
    }

    /**
     * The rule for a path that this process or its configuration names. Where root, or this process's user, alone can change what is on the way
     * to the socket, anybody may answer there, such as a program that has become another user. Where one other user can, only a server of that
     * user may; where a group or everybody can, nobody. A process of a user other than root has no objection.
     *
     * <p>One race remains: the way is looked at when it has been gone. In a directory with the sticky bit, who had a link in the socket's
     * place may have been replaced by a server of root meanwhile. Nobody else can make that happen.
     */
    static ServerRule ofPath(Path socket) {
        return () -> TrustedPath.isRoot() ? onTheWay(socket) : Judge.always(Optional.empty());
    }

    /**
     * The rule for a path that a workload's program names itself. Only a server of the workload's user may answer there, wherever that is; of a
     * workload that runs as this process does, the rule is that of {@link #ofPath}.
     *
     * @param theirs a directory that belongs to the workload's user, below one that this process's user alone can change
     */
    static ServerRule ofProgram(Path socket, Path theirs) {
        return () -> TrustedPath.isRoot() ? ofOwner(socket, theirs) : Judge.always(Optional.empty());
    }

    private static Judge onTheWay(Path socket) {
        Optional<Objection> first = TrustedPath.of(true, ImmutableSet.of()).objectionToConnecting(socket);
        if (first.isEmpty()) {
            return Judge.always(Optional.empty());
        }
        Path place = first.get().place();
        try {
            UserPrincipal owner = Files.getOwner(place, LinkOption.NOFOLLOW_LINKS);
            String number = Files.getAttribute(place, "unix:uid", LinkOption.NOFOLLOW_LINKS)
                    .toString();
            Optional<Objection> second = TrustedPath.of(true, ImmutableSet.of(number, owner.getName()))
                    .objectionToConnecting(socket);
            return second.isPresent()
                    ? Judge.always(Optional.of(socket + " is told nothing, as others could lead it elsewhere: "
                            + second.get().why() + "; " + second.get().remedy()))
                    : server -> difference(socket, place, owner, server);
        } catch (IOException e) {
            return Judge.always(Optional.of(unseen(socket, place, e)));
        }
    }

    private static Judge ofOwner(Path socket, Path theirs) {
        try {
            UserPrincipal owner = Files.getOwner(theirs, LinkOption.NOFOLLOW_LINKS);
            return owner.equals(Files.getOwner(Path.of("/proc/self")))
                    ? onTheWay(socket)
                    : server -> difference(socket, theirs, owner, server);
        } catch (IOException e) {
            return Judge.always(Optional.of(unseen(socket, theirs, e)));
        }
    }

    private static Optional<String> difference(Path socket, Path place, UserPrincipal owner, UserPrincipal server) {
        return server.equals(owner)
                ? Optional.empty()
                : Optional.of(socket + " is answered by the user " + server.getName() + ", not by " + owner.getName()
                        + ", to whom " + place + " belongs, and is told nothing; see where " + socket
                        + " leads, and have what listens there run as " + owner.getName());
    }

    private static String unseen(Path socket, Path place, IOException e) {
        return socket + " is told nothing, as it can't be seen to whom " + place + " belongs: "
                + e.getClass().getSimpleName() + "; start what listens there again";
    }
}
