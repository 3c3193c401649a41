package io.homeostat.e2e;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/** The program of a workload that is asked by a probe. It answers what a file says, so that a test can change that while it runs. */
public final class ProbedServer {
    private static final int FIRST_PORT = 10_000;
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

    /**
     * One that nobody listens on, below those that the kernel gives to whoever asks for any: nobody gets it before the workload takes it,
     * unless all ports are given out so.
     */
    static int freePort() throws IOException {
        // In one piece: the kernel gives such a file only to the first read, and readString() begins with one of a
        // byte.
        String given = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_local_port_range"))
                .getFirst();
        int end = Integer.parseInt(given.substring(0, given.indexOf('\t')).strip());
        Random random = new Random();
        for (int attempt = 0; end > FIRST_PORT && attempt < 100; attempt++) {
            int port = FIRST_PORT + random.nextInt(end - FIRST_PORT);
            try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (BindException taken) {
                continue;
            }
        }
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
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
