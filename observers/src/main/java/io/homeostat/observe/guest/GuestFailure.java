package io.homeostat.observe.guest;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/**
 * What it means that a call to an agent has failed. Agents have few codes, and use the same one for what is not there, what they refuse and
 * what they are too old for, so that the words decide as well; these are of version 4.1.0 of Kata Containers.
 *
 * @param words for people: what the agent said, or what has become of the call
 */
public record GuestFailure(Kind kind, String words) {
    /** What is known by it. */
    public enum Kind {
        /** There is no such container. */
        NO_CONTAINER,
        /** There is no such process, or it has ended and its status was told to others. */
        NO_PROCESS,
        /** This agent can't do it, or was built without it. */
        NOT_SUPPORTED,
        /** The guest's policy forbids it. */
        DENIED,
        /** The agent does no more of it at present, which says nothing of what it was asked about. */
        BUSY,
        /** The agent says no for another reason, which the words tell. */
        REFUSED,
        /** No answer in time. Whether it was done, or will be, is not known. */
        SILENT,
        /** The connection broke. Whether it was done is not known, and it is not done any more. */
        LOST,
        /** We gave it up, or it could not be sent. */
        OURS
    }

    /** EIO, as the pseudo terminal of what has ended is read. */
    private static final String END_OF_TERMINAL = "(os error 5)";

    // Written differently by different calls. "invalid container ID", which begins like them, is said of one that none
    // can have.
    private static final String NO_CONTAINER = "invalid container id";
    private static final String NO_CONTAINER_TYPE = "InvalidContainerId";
    private static final String NO_CONTAINER_ERROR = "Invalid container id";
    private static final String NO_PROCESS = "Process not found";

    private static final String NOT_SUPPORTED = " is not supported";
    private static final String NO_SERVICE = " service does not exist";

    /** Of a read from a terminal: whether nobody has it open any more, which is how its output ends. */
    public boolean isEndOfTerminal() {
        return words.contains(END_OF_TERMINAL);
    }

    /** Of a call that has thrown. */
    public static GuestFailure of(StatusRuntimeException e) {
        Status status = e.getStatus();
        String words = GuestText.of(plain(String.valueOf(status.getDescription())));
        Kind kind = switch (status.getCode()) {
            case INVALID_ARGUMENT -> invalid(words);
            case INTERNAL -> internal(words);
            case NOT_FOUND -> words.endsWith(NOT_SUPPORTED) ? Kind.NOT_SUPPORTED : Kind.NO_PROCESS;
            case UNIMPLEMENTED -> Kind.NOT_SUPPORTED;
            case PERMISSION_DENIED -> Kind.DENIED;
            case RESOURCE_EXHAUSTED -> Kind.BUSY;
            case DEADLINE_EXCEEDED -> Kind.SILENT;
            // Only what happens on this side has a cause.
            case UNAVAILABLE -> e.getCause() == null ? Kind.REFUSED : Kind.LOST;
            case CANCELLED -> Kind.OURS;
            default -> Kind.REFUSED;
        };
        return new GuestFailure(kind, words.isEmpty() ? "the agent gave no reason" : words);
    }

    private static Kind invalid(String words) {
        if (words.startsWith(NO_CONTAINER) || words.equals(NO_CONTAINER_TYPE)) {
            return Kind.NO_CONTAINER;
        }
        return words.endsWith(NO_SERVICE) ? Kind.NOT_SUPPORTED : Kind.REFUSED;
    }

    private static Kind internal(String words) {
        if (words.startsWith(NO_CONTAINER_ERROR)) {
            return Kind.NO_CONTAINER;
        }
        return words.startsWith(NO_PROCESS) ? Kind.NO_PROCESS : Kind.REFUSED;
    }

    /** Some messages are a string as Rust writes it in a program, with quotation marks. */
    private static String plain(String message) {
        if (message.equals("null")) {
            return "";
        }
        if (message.length() < 2 || !message.startsWith("\"") || !message.endsWith("\"")) {
            return message;
        }
        return message.substring(1, message.length() - 1)
                .replace("\\\"", "\"")
                .replace("\\n", " ")
                .replace("\\\\", "\\");
    }
}
