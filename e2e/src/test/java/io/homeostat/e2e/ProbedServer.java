package io.homeostat.e2e;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** The program of a workload that is asked by a probe. It answers what a file says, so that a test can change that while it runs. */
public final class ProbedServer {
    private static final int HANG_UP = 'q';

    private ProbedServer() {}

    /** A process that runs it. */
    static Document document(String protocol, int port, Path answer) {
        return Document.process("web")
                .with("install", "local")
                .with(
                        "entryPoint",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString())
                .with("arguments", new String[] {
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path"),
                    ProbedServer.class.getName(),
                    protocol,
                    Integer.toString(port),
                    answer.toString()
                });
    }

    /** Has a server of the protocol tcp stop listening. */
    static void hangUp(int port) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write(HANG_UP);
        }
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(arguments[1]);
        Path answer = Path.of(arguments[2]);
        switch (arguments[0]) {
            case "http" -> http(port, answer);
            case "tcp" -> tcp(port);
            case "grpc" -> GrpcHealthServer.on(port, "web", () -> text(answer).equals("SERVING"));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        while (true) {
            LockSupport.park();
        }
    }

    private static void http(int port, Path answer) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(Integer.parseInt(text(answer)), -1);
            exchange.close();
        });
        server.start();
    }

    private static void tcp(int port) throws IOException {
        try (ServerSocket server = new ServerSocket(port, 50, InetAddress.getLoopbackAddress())) {
            boolean listens = true;
            while (listens) {
                try (Socket connection = server.accept()) {
                    listens = connection.getInputStream().read() != HANG_UP;
                }
            }
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "500";
        }
    }
}
