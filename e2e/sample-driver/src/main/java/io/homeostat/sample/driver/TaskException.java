package io.homeostat.sample.driver;

/** Why a call for a task fails; the host gets the message as it is. */
final class TaskException extends RuntimeException {
    TaskException(String message) {
        super(message);
    }

    /** In the words of Nomad's own store of tasks. */
    static TaskException notFound() {
        return new TaskException("task not found for given id");
    }
}
