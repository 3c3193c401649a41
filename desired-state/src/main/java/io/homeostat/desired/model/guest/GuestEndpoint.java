package io.homeostat.desired.model.guest;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where the agent of a guest listens, in the forms in which Kata Containers writes it. */
public sealed interface GuestEndpoint {
    /** Where an agent tells what it logs. */
    int LOG_PORT = 1025;

    /** As it is written in a declaration. */
    @Override
    String toString();

    /** Another port of the same guest; empty where there are none. */
    Optional<GuestEndpoint> withPort(int port);

    /** A socket of this machine, for an agent that runs on it. */
    record Unix(String path) implements GuestEndpoint {
        @Override
        public Optional<GuestEndpoint> withPort(int port) {
            return Optional.empty();
        }

        @Override
        public String toString() {
            return "unix://" + path;
        }
    }

    /**
     * A virtual machine, vsock(7).
     *
     * @param cid an unsigned number
     * @param port an unsigned number
     */
    record Vsock(int cid, int port) implements GuestEndpoint {
        @Override
        public Optional<GuestEndpoint> withPort(int other) {
            return Optional.of(new Vsock(cid, other));
        }

        @Override
        public String toString() {
            return "vsock://" + Integer.toUnsignedString(cid) + ":" + Integer.toUnsignedString(port);
        }
    }

    /**
     * A virtual machine whose monitor (Firecracker, Cloud Hypervisor) has a socket on this machine, through which ports of the guest are
     * reached.
     *
     * @param port an unsigned number
     */
    record HybridVsock(String path, int port) implements GuestEndpoint {
        @Override
        public Optional<GuestEndpoint> withPort(int other) {
            return Optional.of(new HybridVsock(path, other));
        }

        @Override
        public String toString() {
            return "hvsock://" + path + ":" + Integer.toUnsignedString(port);
        }
    }

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException when it is none, with what would be right
     */
    static GuestEndpoint parse(String text) {
        if (text.startsWith("unix://")) {
            return new Unix(Syntax.path(text, text.substring("unix://".length())));
        }
        Matcher vsock = Syntax.VSOCK.matcher(text);
        if (vsock.matches()) {
            // 2^32 - 1 is "any", where one can listen and not connect.
            return new Vsock(
                    Syntax.number(text, vsock.group(1), "CID", Syntax.ANY - 1),
                    Syntax.number(text, vsock.group(2), "port", Syntax.ANY - 1));
        }
        Matcher hybrid = Syntax.HYBRID.matcher(text);
        if (hybrid.matches()) {
            return new HybridVsock(
                    Syntax.path(text, hybrid.group(1)), Syntax.number(text, hybrid.group(2), "port", Syntax.ANY - 1));
        }
        throw new IllegalArgumentException("'" + text
                + "' is no endpoint of a guest; write vsock://CID:1024, hvsock:///PATH:1024 or unix:///PATH");
    }

    /** How endpoints are written. */
    final class Syntax {
        private static final Pattern VSOCK = Pattern.compile("vsock://([^:]*):([^:]*)");
        private static final Pattern HYBRID = Pattern.compile("hvsock://(.*):([^:]*)", Pattern.DOTALL);
        private static final long ANY = (1L << 32) - 1;

        /** Bytes of sockaddr_un that a name may have, unix(7). */
        private static final int LONGEST_PATH = 107;

        private Syntax() {}

        private static String path(String text, String path) {
            if (!path.startsWith("/")) {
                throw new IllegalArgumentException(
                        "'" + text + "' has no absolute path; write three slashes, as in unix:///run/agent.sock");
            }
            if (path.indexOf(0) >= 0) {
                throw new IllegalArgumentException("a path has no NUL");
            }
            int length = path.getBytes(StandardCharsets.UTF_8).length;
            if (length > LONGEST_PATH) {
                throw new IllegalArgumentException(
                        "the path of a socket has at most " + LONGEST_PATH + " bytes, and " + path + " has " + length);
            }
            // One socket is one guest, however it is written.
            String normal = Path.of(path).normalize().toString();
            if (normal.equals("/")) {
                throw new IllegalArgumentException("'" + text + "' names no socket; write its path");
            }
            return normal;
        }

        private static int number(String text, String digits, String what, long most) {
            // Longer ones need not be looked at.
            if (digits.matches("[0-9]{1,10}") && Long.parseLong(digits) <= most) {
                return Integer.parseUnsignedInt(digits);
            }
            throw new IllegalArgumentException(
                    "'" + digits + "' in '" + text + "' is no " + what + ", which is a number up to " + most);
        }
    }
}
