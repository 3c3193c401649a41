package io.homeostat.controlplane;

import com.google.rpc.Status;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.MessageBody;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What agents have not acknowledged yet, and the newest stream of each resource. Nothing is sent and no future completed under the lock,
 * since dependents may send in turn.
 */
final class Outstanding {
    private record Addressed(@Nullable String resource, Sent sent) {
        boolean isFor(Connection connection) {
            return resource == null || resource.equals(connection.caller().resource());
        }
    }

    private final Transcript transcript;
    private final Map<String, Addressed> unacknowledged = new LinkedHashMap<>();
    private final Map<String, Sent> unanswered = new LinkedHashMap<>();
    private final Deque<Connection> registered = new ArrayDeque<>();

    Outstanding(Transcript transcript) {
        this.transcript = transcript;
    }

    /** Sends over the newest stream, of any resource or of this one; and again over the next one when it ends first. */
    void send(@Nullable String resource, Sent sent) {
        newestFor(new Addressed(resource, sent)).ifPresent(newest -> newest.send(sent));
    }

    private synchronized Optional<Connection> newestFor(Addressed addressed) {
        Sent sent = addressed.sent();
        unacknowledged.put(sent.id(), addressed);
        String request = sent.body().getLabelsOrDefault(Bodies.REQUEST_ID, "");
        if (!request.isEmpty()) {
            unanswered.put(request, sent);
        }
        return registered.stream().filter(addressed::isFor).findFirst();
    }

    /** Takes a stream into use, and sends what is unacknowledged over it. */
    void registered(Connection connection) {
        List<Sent> unheard = unacknowledgedBy(connection);
        transcript.add(at -> new Entry.Registered(connection.number(), at));
        unheard.forEach(connection::send);
    }

    private synchronized List<Sent> unacknowledgedBy(Connection connection) {
        registered.addFirst(connection);
        return unacknowledged.values().stream()
                .filter(addressed -> addressed.isFor(connection))
                .map(Addressed::sent)
                .toList();
    }

    synchronized void ended(Connection connection) {
        registered.remove(connection);
    }

    synchronized Optional<Connection> newest() {
        return Optional.ofNullable(registered.peekFirst());
    }

    synchronized List<Connection> registered() {
        return List.copyOf(registered);
    }

    void acknowledged(String id, Status status) {
        Addressed addressed;
        synchronized (this) {
            addressed = unacknowledged.remove(id);
        }
        if (addressed != null) {
            addressed.sent().acknowledgement().complete(status);
        }
    }

    void replied(MessageBody body) {
        Sent sent;
        synchronized (this) {
            sent = unanswered.remove(body.getLabelsOrDefault(Bodies.REQUEST_ID, ""));
        }
        if (sent != null) {
            sent.reply().complete(body);
        }
    }
}
