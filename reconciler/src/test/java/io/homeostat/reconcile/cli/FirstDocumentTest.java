package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.MoreFiles;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.reconcile.cli.Shell.Result;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code init} makes of an archive that a server has; everything else is in {@code stories/first-documents.txt}. */
class FirstDocumentTest {
    @Test
    void anArchiveOfAServerIsFetchedOnceAndItsQueryIsNotShown(@TempDir Path directory) throws Exception {
        Path temporary = Files.createDirectory(directory.resolve("tmp"));
        Shell shell = new Shell(directory).with(Map.of("TMPDIR", temporary.toString()));
        Path program = Files.createDirectories(directory.resolve("web/bin")).resolve("run");
        Files.writeString(program, "#!/bin/sh\nexec sleep 1000\n");
        assertTrue(program.toFile().setExecutable(true));
        Result bundled = shell.plain("bundle", directory + "/web", "--entry-point", "bin/run", "--to", directory + "");
        byte[] content =
                Files.readAllBytes(Path.of(bundled.out().lines().findFirst().orElseThrow()));
        AtomicInteger requests = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            exchange.sendResponseHeaders(200, content.length);
            exchange.getResponseBody().write(content);
            exchange.close();
        });
        server.start();
        try {
            String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/web.tgz?signature=geheim";
            Result result = shell.plain("init", "archive", url);

            assertEquals(0, result.status(), result.err());
            assertEquals(1, requests.get());
            assertFalse(result.out().lines().findFirst().orElseThrow().contains("geheim"), result.out());
            assertTrue(result.out().contains("url: " + url), result.out());
        } finally {
            server.stop(0);
        }
        assertEquals(0, MoreFiles.listFiles(temporary).size());
        try (Stream<Path> files = Files.walk(directory)) {
            assertEquals(
                    0, files.filter(file -> file.toString().endsWith(".part")).count());
        }
    }
}
