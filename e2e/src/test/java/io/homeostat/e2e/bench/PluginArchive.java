package io.homeostat.e2e.bench;

import com.sun.net.httpserver.HttpServer;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Tools;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;

/**
 * The archive of a plugin that starts fast, on a server, as often as it is asked for with another checksum each time, so that nobody has
 * it already: the archives differ in the time in the header of gzip.
 */
final class PluginArchive implements AutoCloseable {
    /** A plugin of somebody else's: any program that serves the protocol of plugins. */
    private static final String GIVEN = "HOMEOSTAT_BENCH_PLUGIN";

    private static final int BYTES = 12_000_000;

    /** Random bytes of so few values are compressed to the half, as programs are. */
    private static final int VALUES = 16;

    private static final int GZIP_TIME = 4;

    private final byte[] archive;
    private final HttpServer server;
    private int versions;

    /** @param sha256 of what is at the address */
    record Version(String url, String sha256) {}

    private PluginArchive(byte[] archive) throws IOException {
        this.archive = archive;
        this.server = Download.serve(this::write, archive.length);
    }

    /** Why there can be none; empty when there can. */
    static Optional<String> missing() {
        return System.getenv(GIVEN) == null && Tools.find("go").isEmpty()
                ? Optional.of("there is no go to build a plugin with, and " + GIVEN + " names none")
                : Optional.empty();
    }

    static PluginArchive create(Workplace place) throws IOException, InterruptedException {
        Path tree = place.path("plugin");
        String _ = StampProgram.create(place, tree.resolve("bin/plugin"));
        Path real = tree.resolve("bin/plugin.real");
        String given = System.getenv(GIVEN);
        if (given != null) {
            Files.copy(Path.of(given), real);
        } else {
            String source = Path.of(System.getProperty("homeostat.root"), "e2e", "bench-plugin")
                    .toString();
            String _ = place.run("env", "-C", source, "CGO_ENABLED=0", "go", "build", "-o", real.toString(), ".");
        }
        Path archive = place.path("plugin.tar.gz");
        String tar = "tar cf - -C '%s' . | gzip -6 >'%s'".formatted(tree, archive);
        String _ = place.run("sh", "-c", tar);
        long missing = BYTES - Files.size(archive);
        if (missing > 0) {
            byte[] ballast = new byte[(int) missing * 2];
            new Random(1).nextBytes(ballast);
            for (int i = 0; i < ballast.length; i++) {
                ballast[i] = (byte) (ballast[i] & (VALUES - 1));
            }
            Files.write(tree.resolve("ballast"), ballast);
            String _ = place.run("sh", "-c", tar);
        }
        return new PluginArchive(Files.readAllBytes(archive));
    }

    Version next() {
        versions++;
        String path = "/" + versions + "/plugin.tar.gz";
        try {
            String sum = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(version(versions)));
            return new Version("http://127.0.0.1:" + server.getAddress().getPort() + path, sum);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private byte[] version(int number) {
        byte[] copy = archive.clone();
        ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN).putInt(GZIP_TIME, number);
        return copy;
    }

    private long write(String path, OutputStream body) throws IOException {
        body.write(version(Integer.parseInt(path.substring(1, path.indexOf('/', 1)))));
        return archive.length;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
