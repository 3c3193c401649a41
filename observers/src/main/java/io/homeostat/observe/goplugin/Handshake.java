package io.homeostat.observe.goplugin;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Ints;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The first line that a plugin prints: {@code core|version|network|address|protocol|certificate}.
 *
 * @param version of the protocol above go-plugin, one of those that the host speaks
 * @param network where it listens
 * @param address the absolute path of a socket, or what should be a host and a port
 */
public record Handshake(int version, Network network, String address) {
    /** Where a plugin listens. */
    public enum Network {
        UNIX,
        TCP
    }

    private static final int CORE = 1;
    private static final int LEAST_FIELDS = 4;
    private static final int CERTIFICATE_FIELD = 5;

    /** What is shorter is no certificate but a flag of a newer version. */
    private static final int LEAST_CERTIFICATE = 50;

    /** In bytes; what a program has printed before and after its handshake in addition is not looked at. */
    public static final int LONGEST = 4096;

    /** What the shell and the commands through which a program is launched say of themselves, which is not always the end of the launch. */
    private static final Pattern OF_THE_LAUNCH =
            Pattern.compile("^(?:homeostat|(?:\\S*/)?(?:setsid|prlimit|choom|nice|setpriv)): ");

    private static final int SHOWN = 80;

    /** What a program printed is no handshake that we can use; the message says why and what to do, as a sentence about "it". */
    public static final class Refused extends Exception {
        Refused(String message) {
            super(message);
        }

        /** Why, for people. */
        public String words() {
            return String.valueOf(getMessage());
        }
    }

    /**
     * The first line of what a program has printed so far; empty as long as it is not complete. What is longer than any handshake counts
     * as a line. What those said that launched it is passed over.
     *
     * @param output a file of ours
     */
    public static Optional<String> line(Path output) throws IOException {
        byte[] begun;
        try (InputStream in = Channels.newInputStream(PinnedFile.read(output))) {
            begun = in.readNBytes(LONGEST);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            // Not all of them name the file.
            throw new IOException(output + " can't be read: " + e.getMessage(), e);
        }
        String text = new String(begun, StandardCharsets.UTF_8);
        int start = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
            String line = text.substring(start, end);
            if (!OF_THE_LAUNCH.matcher(line).find()) {
                return Optional.of(line.strip());
            }
            start = end + 1;
        }
        return begun.length == LONGEST ? Optional.of(text.substring(start)) : Optional.empty();
    }

    /**
     * Reads such a line.
     *
     * @param versions that the host speaks
     * @throws Refused when it is none, or of a plugin that the host can't speak with
     */
    public static Handshake parse(String line, ImmutableSet<Integer> versions) throws Refused {
        if (line.isEmpty()) {
            throw new Refused(
                    "it has printed nothing where the handshake of go-plugin should be; correct spec.entryPoint");
        }
        List<String> fields = Splitter.on('|').trimResults().splitToList(line);
        Integer core = Ints.tryParse(fields.getFirst());
        if (fields.size() < LEAST_FIELDS || core == null) {
            throw new Refused("it is not a plugin: it printed " + shown(line)
                    + " where the handshake of go-plugin should be; correct spec.entryPoint");
        }
        if (core != CORE) {
            throw new Refused("its handshake is of version " + core + " of go-plugin, and only version " + CORE
                    + " is known; install another release of it");
        }
        Integer version = Ints.tryParse(fields.get(1));
        if (version == null || !versions.contains(version)) {
            throw new Refused("it speaks version " + shown(fields.get(1)) + " of its protocol, and we speak " + versions
                    + "; install another release of it");
        }
        Network network = switch (fields.get(2)) {
            case "unix" -> Network.UNIX;
            case "tcp" -> Network.TCP;
            default ->
                throw new Refused("it listens on the network " + shown(fields.get(2))
                        + ", and only unix and tcp are known; install another release of it");
        };
        String protocol = fields.size() > LEAST_FIELDS ? fields.get(LEAST_FIELDS) : "netrpc";
        if (!protocol.equals("grpc")) {
            throw new Refused("it speaks " + (protocol.equals("netrpc") ? "net/rpc" : shown(protocol))
                    + ", and only gRPC is supported; install a release of it that serves gRPC");
        }
        if (fields.size() > CERTIFICATE_FIELD && fields.get(CERTIFICATE_FIELD).length() > LEAST_CERTIFICATE) {
            throw new Refused("it wants TLS, for which it was not asked; remove PLUGIN_CLIENT_CERT where it is set");
        }
        String address = fields.get(3);
        if (address.isEmpty()) {
            throw new Refused("its handshake has no address: " + shown(line) + "; install another release of it");
        }
        if (network == Network.UNIX && (!address.startsWith("/") || address.indexOf('\0') >= 0)) {
            throw new Refused("it says that it listens at " + shown(address)
                    + ", which is no absolute path of a socket; install another release of it");
        }
        return new Handshake(version, network, address);
    }

    /** Whatever it is, on one line and not too long. */
    static String shown(String text) {
        String plain = text.codePoints()
                .limit(SHOWN)
                .map(c -> VisibleText.isVisible(c) ? c : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        return "\"" + plain + (plain.length() < text.length() ? "...\"" : "\"");
    }
}
