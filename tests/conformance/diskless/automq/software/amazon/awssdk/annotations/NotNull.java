package software.amazon.awssdk.annotations;

public @interface NotNull { }
